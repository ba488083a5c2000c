/** Lists the events that an app can receive, newest first, with what became of each at each of its webhooks. */
import type { AppEvent } from '../../contract/portal-deliveries.ts';
import type { Database } from '../../database/database.ts';
import { recentEvents } from '../../events/pull-events.ts';
import { explainEvents } from './explain.ts';

/** `before`: the id of the last event of the page before. */
export async function listAppEvents(
  database: Database,
  appId: string,
  page: { before: string | null; limit: number },
): Promise<{ events: AppEvent[]; hasMore: boolean }> {
  const { events, hasMore } = await recentEvents(database, appId, page);
  const ids = events.map(({ id }) => id);
  const explained = await explainEvents(database, appId, ids);
  const outcomes = Map.groupBy(explained, ({ eventId }) => eventId);
  return {
    events: events.map(({ id, name, created_at: createdAt, kind, slug, subject }) => ({
      id,
      event: name,
      createdAt: createdAt.toISOString(),
      subject: kind === null ? null : { kind, slug, name: subject },
      webhooks: (outcomes.get(id) ?? []).map(({ explanation }) => {
        const { webhookId, result, message, delivery } = explanation;
        return {
          webhookId,
          result,
          message,
          delivery: delivery && { id: delivery.id, status: delivery.status },
        };
      }),
    })),
    hasMore,
  };
}
