/** Writes the log line of an attempt. It has exactly these fields, and none of them is secret. */
import type { Logger } from '../../log.ts';
import type { AttemptOutcome } from './attempt.ts';
import type { Deliverable } from './deliverable.ts';
import type { Verdict } from './retry.ts';
import { urlHost } from './url-host.ts';

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
