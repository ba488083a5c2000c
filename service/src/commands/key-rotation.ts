import type { Command } from 'commander';
import { keyOverlapSecondsDefault, keyOverlapSecondsMax, rotateKey } from '../access/rotate-key.ts';
import { cliActor } from './cli-actor.ts';
import { parseInteger } from './parse-option.ts';
import { print, withDatabase } from './with-database.ts';

export function addKeyRotation(keys: Command): void {
  keys
    .command('rotate')
    .description(
      'Replace a key with a new one of the same name and scopes, shown only once. The old key stays valid for a while.',
    )
    .argument('<id>', 'id of the key')
    .option(
      '--overlap <seconds>',
      `how long the old key stays valid, in seconds, 0 to ${keyOverlapSecondsMax}`,
      parseInteger(0, keyOverlapSecondsMax),
      keyOverlapSecondsDefault,
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExample:\n  orgdir keys rotate 0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f --overlap 3600',
    )
    .action(async (id: string, { overlap, json }: { overlap: number; json?: boolean }) => {
      const created = await withDatabase(({ database }) =>
        database.transaction().execute((tx) => rotateKey(tx, cliActor(), id, overlap)),
      );
      print(json, created, [
        `Key ${created.id}, shown only once:`,
        created.key,
        `The old key expires at ${created.oldEndsAt.toISOString()}.`,
      ]);
    });
}
