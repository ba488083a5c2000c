import type { Command } from 'commander';
import { changeRefused, type RefusedVerb } from '../http/operator/refused.ts';
import { cliActor } from './cli-actor.ts';
import { addCommand, exampleId, parseId } from './parse-option.ts';

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
    addCommand<{ all?: boolean }, string[]>(events, {
      name,
      description,
      argument: ['[id...]', 'ids that orgdir events list --rejected shows', collectId],
      options: [['--all', 'all that are listed']],
      note,
      example: [exampleId, '--all'],
      check({ given: ids, flags: { all }, command }) {
        if (ids.length > 0 === (all === true))
          command.error("error: either ids or option '--all' must be specified");
      },
      async act({ database, given: ids, flags: { all } }) {
        const count = await changeRefused(database, cliActor(), name, all ? null : ids);
        return [
          { [past]: count },
          [count === 0 ? 'Nothing was rejected or set aside.' : `${count} ${past}.`],
        ];
      },
    });
}

function collectId(text: string, earlier: string[] | undefined): string[] {
  return [...new Set([...(earlier ?? []), parseId(text)])];
}
