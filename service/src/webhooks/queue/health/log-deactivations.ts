import type { Logger } from '../../../runtime/log.ts';
import type { Metrics } from '../../../runtime/metrics.ts';
import type { Deactivation } from './update-webhook-health.ts';

/** Logs and counts deactivated webhooks. */
export function logDeactivations(
  { log, metrics }: { log: Logger; metrics: Metrics },
  deactivated: Deactivation[],
): void {
  for (const each of deactivated) {
    metrics.deactivated(each.reason);
    metrics.cancelled(each.cancelled);
    log.warn(each, 'webhook.deactivated');
  }
}
