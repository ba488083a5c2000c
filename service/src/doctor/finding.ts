/** What a check has found, in words for whoever has to mend it. */

export type Finding = {
  /** What was looked at, such as `migrations`. */
  check: string;
  /** `skipped`: it could not be looked at, or there is nothing to look at. */
  status: 'ok' | 'warning' | 'failed' | 'skipped';
  message: string;
  /** What to do about it. */
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
