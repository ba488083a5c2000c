/** Lists the events that an app can receive, newest first, with what became of each at each of its webhooks. */
import type { AppEvent } from '../../contract/portal-deliveries.ts';
import type { Database } from '../../database/database.ts';
import type { Cursors } from '../../events/cursors.ts';
import { decodeCursor, recentEvents } from '../../events/pull-events.ts';
import { explainEvents } from './explain.ts';

/** `before`: the `nextCursor` of the page before. Throws `validation_failed` if it is none of the app. */
export async function listAppEvents(
  database: Database,
  cursors: Cursors,
  appId: string,
  { before, limit }: { before: string | null; limit: number },
): Promise<{ events: AppEvent[]; nextCursor: string | null; hasMore: boolean }> {
  const end = before === null ? null : decodeCursor(cursors, appId, before, 'query.before');
  const { events, hasMore } = await recentEvents(database, appId, { before: end, limit });
  const last = events.at(-1);
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
    nextCursor: last ? cursors.encode(appId, last.position) : before,
    hasMore,
  };
}
