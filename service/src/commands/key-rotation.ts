import type { Command } from 'commander';
import { keyOverlapSecondsDefault, keyOverlapSecondsMax, rotateKey } from '../access/rotate-key.ts';
import { cliActor } from './cli-actor.ts';
import { wholeNumber } from './read-option.ts';
import { print, withDatabase } from './with-database.ts';

/** `orgdir keys rotate`. */
export function addKeyRotation(keys: Command): void {
  keys
    .command('rotate')
    .description(
      'Make a new key with the same name and scopes and show it, this once. The old one ends later.',
    )
    .argument('<id>', 'of the key')
    .option(
      '--overlap <seconds>',
      `how long the old one stays valid, 0 to ${keyOverlapSecondsMax}`,
      wholeNumber(0, keyOverlapSecondsMax),
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
        `Key ${created.id}, shown this once:`,
        created.key,
        `The old one ends at ${created.oldEndsAt.toISOString()}.`,
      ]);
    });
}
