import type { Command } from 'commander';
import { recordAudit } from '../access/audit-log.ts';
import type { Transaction } from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import { dropRejected, retryRejected } from '../events/published-events.ts';
import { dropSetAside, isRefusal, listRefusedIds, retrySetAside } from '../events/set-aside.ts';
import { cliActor } from './cli-actor.ts';
import { parseId } from './parse-option.ts';
import { print, withDatabase } from './with-database.ts';

type Flags = { all?: boolean; json?: boolean };
type Verb = {
  name: 'retry' | 'drop';
  past: 'retried' | 'dropped';
  description: string;
  note: string;
  /** Each returns how many it found. */
  steps: ((tx: Transaction, ids: string[]) => Promise<number>)[];
};

const verbs: Verb[] = [
  {
    name: 'retry',
    past: 'retried',
    description: 'Process events and deliveries again that were rejected or set aside.',
    note: 'Fix the cause first: what is refused again is listed again. An attempt that could not be recorded may be made twice.',
    steps: [retrySetAside, retryRejected],
  },
  {
    name: 'drop',
    past: 'dropped',
    description: 'Delete events and deliveries for good that were rejected or set aside.',
    note: 'Dropped events are never sent. Otherwise they are dropped after RETENTION_DAYS.',
    steps: [dropSetAside, dropRejected],
  },
];
/** Rows of one transaction. */
const batchSize = 1_000;

export function addSetAsideCommands(events: Command): void {
  for (const { name, past, description, note, steps } of verbs)
    events
      .command(name)
      .description(description)
      .argument('[id...]', 'ids that orgdir events list --rejected shows', collectId)
      .option('--all', 'all that are listed')
      .option('--json', 'print JSON')
      .addHelpText(
        'after',
        `
${note}

Examples:
  orgdir events ${name} 0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f
  orgdir events ${name} --all`,
      )
      .action(async (ids: string[], { all, json }: Flags, command: Command) => {
        if (ids.length > 0 === (all === true))
          command.error("error: either ids or option '--all' must be specified");
        const count = await runOn(all ? null : ids, { past, steps });
        print(json, { [past]: count }, [
          count === 0 ? 'Nothing was rejected or set aside.' : `${count} ${past}.`,
        ]);
      });
}

async function runOn(
  ids: string[] | null,
  { past, steps }: Pick<Verb, 'past' | 'steps'>,
): Promise<number> {
  return withDatabase(async ({ database }) => {
    const chosen = ids ?? (await listRefusedIds(database));
    let done = 0;
    for (let start = 0; start < chosen.length; start += batchSize)
      done += await explainRefusal(() =>
        database.transaction().execute(async (tx) => {
          const batch = chosen.slice(start, start + batchSize);
          let count = 0;
          for (const step of steps) count += await step(tx, batch);
          // With --all, somebody else may have been faster.
          if (ids && count < batch.length)
            throw new ServiceError(
              'not_found',
              `${batch.length - count} of these ids are not listed by: orgdir events list --rejected`,
            );
          await recordAudit(tx, cliActor(), {
            action: `event.${past}`,
            subject: { kind: 'event', id: batch.length === 1 ? (batch[0] ?? null) : null },
            appId: null,
            details: { count },
          });
          return count;
        }),
      );
    return done;
  });
}

async function explainRefusal<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (!isRefusal(error)) throw error;
    throw new ServiceError(
      'conflict',
      `Nothing was changed, because a row was refused again (${(error as Error).message}). Fix the cause, or choose other ids.`,
      { cause: error },
    );
  }
}

function collectId(text: string, earlier: string[] | undefined): string[] {
  return [...new Set([...(earlier ?? []), parseId(text)])];
}
