/** The health of webhooks: the one place that decides it, for the API, the portal, mails and the command line. */
import { suspensionOf } from '../../access/suspensions.ts';
import { sql } from '../../database/database.ts';

/**
 * Over webhooks `w` with the joins below. Reads what attempts have left in `webhook_health`, so that tests, probes and
 * interrupted attempts don't count. docs/reference/deliveries.md#health
 */
export const webhookHealth = sql`
  case when s."suspendedAt" is not null then 'suspended'
    when not w.active then 'deactivated'
    when h.exhausted_in_a_row > 0 then 'failing'
    when is_failing(h.last_success_at, h.last_failure_at) then 'retrying'
    when h.last_success_at is null then 'new'
    else 'healthy'
  end
`;

/** What `webhookHealth` needs next to the webhooks `w`. */
export const healthJoins = sql`
  left join webhook_health h on h.webhook_id = w.id
  left join lateral ${suspensionOf('webhook', sql`w.id`, sql`w.app_id`)} s on true
`;
