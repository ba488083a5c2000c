/** Lists the deliveries of an app's webhooks with their last attempt and what their event is about, for the portal. */
import type { Actor } from '../../access/actor.ts';
import type { PortalDelivery, Searched } from '../../contract/portal-deliveries.ts';
import {
  isStatementTimeout,
  sql,
  type Database,
  type Executor,
  type LeftJoined,
} from '../../database/database.ts';
import { fromRow } from '../../contract/parse-time.ts';
import { Delivery } from '../../contract/webhook.ts';
import { createTurns, statementMaxMs, takesTooLong } from '../../database/create-turns.ts';
import { deliveriesOf, type DeliveryRow } from './deliveries.ts';
import { findPage } from './find-page.ts';
import { lastAttemptColumns, lastAttemptOf, type LastAttemptRow } from './list-all-deliveries.ts';
import { isSearch, searchDeliveries, type DeliverySearch } from './search-deliveries.ts';
import { listWebhookIds } from './webhooks.ts';

type SubjectRow = { kind: 'organization' | 'alliance'; slug: string; name: string };
type Row = DeliveryRow &
  LeftJoined<LastAttemptRow> &
  LeftJoined<SubjectRow> & { url: string; description: string | null };

/** Each may read thousands of bodies. */
const inTurn = createTurns('searches');

/** Lists the deliveries of one webhook, or of all if it is null. The caller has checked the app and the webhook. */
export async function listAppDeliveries(
  database: Database,
  actor: Actor,
  { appId, webhookId }: { appId: string; webhookId: string | null },
  query: DeliverySearch & { page: number; limit: number },
): Promise<{ total: number; deliveries: PortalDelivery[]; searched: Searched }> {
  const webhookIds = webhookId === null ? await listWebhookIds(database, appId) : [webhookId];
  const { total, ids, searched } = isSearch(query)
    ? await inTurn(() => searchInTime(database, appId, webhookIds, query), actor.id)
    : { ...(await findPage(database, webhookIds, query)), searched: null };
  return { total, deliveries: await readEntries(database, appId, ids), searched };
}

/** Throws `conflict` if it takes too long. */
async function searchInTime(
  database: Database,
  appId: string,
  webhookIds: string[],
  query: DeliverySearch & { page: number; limit: number },
) {
  try {
    return await database.transaction().execute(async (tx) => {
      await sql`select set_config('statement_timeout', ${sql.lit(String(statementMaxMs))}, true)`.execute(
        tx,
      );
      return searchDeliveries(tx, appId, webhookIds, query);
    });
  } catch (error) {
    if (!isStatementTimeout(error)) throw error;
    throw takesTooLong();
  }
}

async function readEntries(
  executor: Executor,
  appId: string,
  ids: string[],
): Promise<PortalDelivery[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<Row>`
    select found.*, w.url, w.description, last.*, subject.*
    from ${deliveriesOf(ids)} found
    join webhooks w on w.id = found."webhookId"
    left join lateral (
      select ${lastAttemptColumns} from attempts
      where delivery_id = found.id and delivery_id = any(${ids}::uuid[]) order by number desc limit 1
    ) last on true
    left join lateral (
      select s.kind, s.slug, s.name from events e cross join lateral (
        select 'organization' as kind, slug, name from orgs where orgs.id = e.org_id
        union all
        select 'alliance', slug, name from alliances where alliances.id = e.alliance_id
      ) s
      where e.id = found."eventId" and app_may_receive(e.audience, e.org_id, e.alliance_id, e.created_at, ${appId})
      limit 1
    ) subject on true
    order by found.id desc
  `.execute(executor);
  return rows.map((row) =>
    Object.assign(fromRow(Delivery, row), {
      webhook: { url: row.url, description: row.description },
      subject: row.kind === null ? null : { kind: row.kind, slug: row.slug, name: row.name },
      lastAttempt: lastAttemptOf(row),
    }),
  );
}
