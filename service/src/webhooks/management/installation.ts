/** Reads the state of the whole installation, for operators. */
import { today } from '../../access/usage.ts';
import type { OperatorOverview } from '../../contract/operator.ts';
import { sql, type Executor } from '../../database/database.ts';
import { healthJoins, webhookHealth } from '../notifications/webhook-health.ts';
import { urlHost } from '../sending/url-host.ts';
import { readServiceStats } from './service-stats.ts';

const receiversMax = 10;
/** Counting stops here, as that of the queue does. */
const rejectedMax = 10_000;

export async function readInstallation(
  executor: Executor,
): Promise<Omit<OperatorOverview, 'queue' | 'responses'> & { rejected: number }> {
  const { rows } = await sql<
    Pick<OperatorOverview, 'today' | 'yesterday' | 'webhooks' | 'receivers'> & { rejected: number }
  >`
    with state as materialized (
      select w.app_id, w.url, substring(w.url from '^[a-z]+://[^/?#]+') as origin, ${webhookHealth} as health
      from webhooks w ${healthJoins}
    )
    select ${usedOn(sql`${today}`)} as today, ${usedOn(sql`${today} - 1`)} as yesterday,
      (
        select coalesce(jsonb_object_agg(health, webhooks), '{}')
        from (select health, count(*) as webhooks from state group by health) by_health
      ) as webhooks,
      (
        select coalesce(jsonb_agg(to_jsonb(r) order by webhooks desc, host), '[]') from (
          select min(url) as host, count(*) as webhooks, count(distinct app_id) as apps from state
          where health in ('deactivated', 'failing', 'retrying')
          group by origin order by webhooks desc, origin limit ${receiversMax}
        ) r
      ) as receivers,
      (select count(*) from (select from published_events where rejected_at is not null limit ${rejectedMax}) r) as rejected
  `.execute(executor);
  const [row] = rows;
  if (!row) throw new Error('the installation was not read');
  const { lastDay } = await readServiceStats(executor);
  const receivers = row.receivers.map(({ host: url, webhooks, apps }) => ({
    host: urlHost(url),
    webhooks,
    apps,
  }));
  return { ...row, receivers, deliveries: lastDay };
}

function usedOn(day: ReturnType<typeof sql>) {
  return sql`(
    select jsonb_build_object('requests', coalesce(sum(requests), 0)::int8, 'errors', coalesce(sum(errors), 0)::int8)
    from usage where day = ${day}
  )`;
}
