/** Writes the log line of an attempt. It has exactly these fields, and none of them is secret. */
import type { Logger } from '../../runtime/log.ts';
import type { AttemptOutcome } from './attempt.ts';
import type { Deliverable } from './deliverable.ts';
import type { Verdict } from './retry.ts';
import { urlHost } from './url-host.ts';

/** Without redaction, which takes longer than the rest of the line. */
export function createAttemptLog(log: Logger): Logger {
  return log.child({}, { redact: [] });
}

/** `log` is from `createAttemptLog`. */
export function logAttempt(
  log: Logger,
  { id, webhookId, event, trigger, url, number }: Deliverable,
  { statusCode, error, durationMs }: AttemptOutcome,
  verdict: Verdict['kind'],
): void {
  log.info(
    {
      deliveryId: id,
      webhookId,
      event,
      trigger,
      // Only the host: a path or query may contain the owner's token.
      host: urlHost(url),
      attempt: number,
      statusCode,
      error,
      durationMs,
      verdict,
    },
    'delivery.attempted',
  );
}
