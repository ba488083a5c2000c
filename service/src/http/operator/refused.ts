/** Events that were rejected and rows that were set aside: lists, retries and drops them, for the console and the command line. */
import type { Actor } from '../../access/actor.ts';
import { recordAudit } from '../../access/audit-log.ts';
import type { Change, Database, Executor, Transaction } from '../../database/database.ts';
import { ServiceError } from '../../errors.ts';
import type { EventFilter } from '../../events/pull-events.ts';
import {
  dropRejected,
  listRejected,
  retryRejected,
  type RejectedEvent,
} from '../../events/published-events.ts';
import {
  dropSetAside,
  isRefusal,
  listRefusedIds,
  listSetAside,
  retrySetAside,
} from '../../events/set-aside.ts';

export type RefusedVerb = 'retry' | 'drop';
type Verb = {
  past: 'retried' | 'dropped';
  /** Each returns how many it found. */
  steps: ((tx: Transaction, ids: string[]) => Promise<number>)[];
};

const verbs: Record<RefusedVerb, Verb> = {
  retry: { past: 'retried', steps: [retrySetAside, retryRejected] },
  drop: { past: 'dropped', steps: [dropSetAside, dropRejected] },
};
/** Rows of one transaction. */
const batchSize = 1_000;

/** Newest first. */
export async function listRefused(
  executor: Executor,
  filter: EventFilter,
): Promise<RejectedEvent[]> {
  const lists = [await listRejected(executor, filter), await listSetAside(executor, filter)];
  return lists
    .flat()
    .sort((a, b) => b.rejectedAt.getTime() - a.rejectedAt.getTime())
    .slice(0, filter.limit);
}

/**
 * Processes rows again, or deletes them for good; `ids` null: all, a batch after the other. Returns how many. Throws `not_found` if
 * one of `ids` is not there any more, and `conflict` if a row is refused again, which changes nothing of its batch.
 */
export async function changeRefused(
  database: Database,
  actor: Actor,
  verb: RefusedVerb,
  ids: string[] | null,
  change: Change = (work) => database.transaction().execute(work),
): Promise<number> {
  const { past, steps } = verbs[verb];
  const chosen = ids ?? (await listRefusedIds(database));
  let done = 0;
  for (let start = 0; start < chosen.length; start += batchSize)
    done += await explainRefusal(done, () =>
      change(async (tx) => {
        const batch = chosen.slice(start, start + batchSize);
        let count = 0;
        for (const step of steps) count += await step(tx, batch);
        // With all, somebody else may have been faster.
        if (ids && count < batch.length)
          throw new ServiceError(
            'not_found',
            `${batch.length - count} of these ids are neither rejected nor set aside. Nothing was changed.`,
          );
        await recordAudit(tx, actor, {
          action: `event.${past}`,
          subject: { kind: 'event', id: batch.length === 1 ? (batch[0] ?? null) : null },
          appId: null,
          details: { count, ids: batch },
        });
        return count;
      }),
    );
  return done;
}

async function explainRefusal<Result>(done: number, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (!isRefusal(error)) throw error;
    throw new ServiceError(
      'conflict',
      `${done === 0 ? 'Nothing was changed' : `After ${done} rows nothing more was changed`}, because a row was refused again (${(error as Error).message}). Fix the cause, or choose other ids.`,
      { cause: error },
    );
  }
}
