import type { Command } from 'commander';
import type { Config } from '../settings/config.ts';
import type { Database } from '../database/database.ts';
import { print, withDatabase } from './with-database.ts';

/** A command on the database that prints one result, with `--json` or as lines. */
export type CommandSpec<Flags = object> = {
  name: string;
  description: string;
  argument?: readonly [name: string, description: string];
  /** Flags, description, and for a value its parser and default. */
  options?: [string, string, ((text: string, earlier: unknown) => unknown)?, unknown?][];
  required?: [flags: string, description: string];
  /** What follows the name in the example of the help. */
  example?: string;
  act: (given: Given<Flags>) => Promise<[value: unknown, lines: string[]]>;
};
/** `given`: the argument; empty without one. */
type Given<Flags> = { database: Database; config: Config; given: string; flags: Flags };

export function addCommand<Flags = object>(parent: Command, spec: CommandSpec<Flags>): void {
  const { name, description, argument, options = [], required, example = '', act } = spec;
  const command = parent.command(name).description(description);
  if (argument) command.argument(...argument);
  if (required) command.requiredOption(...required);
  for (const [flags, text, parse, usual] of options)
    if (parse) command.option(flags, text, parse, usual);
    else command.option(flags, text);
  command
    .option('--json', 'print JSON')
    .addHelpText('after', `\nExample:\n  orgdir ${parent.name()} ${name} ${example}`.trimEnd())
    .action(async (...words: unknown[]) => {
      const given = argument ? String(words[0]) : '';
      const flags = words.at(-2) as Flags & { json?: boolean };
      const [value, lines] = await withDatabase(({ database }, config) =>
        act({ database, config, given, flags }),
      );
      print(flags.json, value, lines);
    });
}
