import type { Command } from 'commander';
import { changeRefused, type RefusedVerb } from '../http/operator/refused.ts';
import { cliActor } from './cli-actor.ts';
import { parseId } from './parse-option.ts';
import { print, withDatabase } from './with-database.ts';

type Flags = { all?: boolean; json?: boolean };
type Verb = {
  name: RefusedVerb;
  past: 'retried' | 'dropped';
  description: string;
  note: string;
};

const verbs: Verb[] = [
  {
    name: 'retry',
    past: 'retried',
    description: 'Process events and deliveries again that were rejected or set aside.',
    note: 'Fix the cause first: what is refused again is listed again. An attempt that could not be recorded may be made twice.',
  },
  {
    name: 'drop',
    past: 'dropped',
    description: 'Delete events and deliveries for good that were rejected or set aside.',
    note: 'Dropped events are never sent, and dropped deliveries only by a replay of their webhook. Otherwise they are dropped after RETENTION_DAYS.',
  },
];

export function addSetAsideCommands(events: Command): void {
  for (const { name, past, description, note } of verbs)
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
        const count = await withDatabase(({ database }) =>
          changeRefused(database, cliActor(), name, all ? null : ids),
        );
        print(json, { [past]: count }, [
          count === 0 ? 'Nothing was rejected or set aside.' : `${count} ${past}.`,
        ]);
      });
}

function collectId(text: string, earlier: string[] | undefined): string[] {
  return [...new Set([...(earlier ?? []), parseId(text)])];
}
