/** The result of a check, with advice on how to fix a problem. */

export type Finding = {
  /** The name of the check, such as `migrations`. */
  check: string;
  /** `skipped`: the check was not possible, or does not apply. */
  status: 'ok' | 'warning' | 'failed' | 'skipped';
  message: string;
  /** How to fix it; null if there is nothing to do. */
  advice: string | null;
};

export function ok(check: string, message: string): Finding {
  return { check, status: 'ok', message, advice: null };
}

export function warning(check: string, message: string, advice: string): Finding {
  return { check, status: 'warning', message, advice };
}

export function failed(check: string, message: string, advice: string): Finding {
  return { check, status: 'failed', message, advice };
}

export function skipped(check: string, message: string): Finding {
  return { check, status: 'skipped', message, advice: null };
}
