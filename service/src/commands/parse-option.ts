/** Parses the values of options. For an invalid value commander names the option, and the command exits with 2. */
import { type Command, InvalidArgumentError } from 'commander';
import { requirePlainName } from '../access/require-plain-name.ts';
import { normaliseEmail } from '../access/email.ts';
import { isFuture, parseTime } from '../contract/parse-time.ts';
import { uuidPattern } from '../contract/patterns.ts';
import { ServiceError, type Issue } from '../errors.ts';
import type { Config } from '../settings/config.ts';
import type { Database } from '../database/database.ts';
import { print, withDatabase } from './with-database.ts';

export function parseInteger(least: number, most: number) {
  return (text: string): number => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}

export function parseId(text: string): string {
  if (uuidPattern.test(text)) return text.toLowerCase();
  throw new InvalidArgumentError('It must be an id, such as 0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f.');
}

export function parseHttpUrl(text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? '')) return text;
  throw new InvalidArgumentError('It must be an http or https address.');
}

/** A file or folder. An unset variable of a script is an empty one, which would be the current folder. */
export function parsePath(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('It must not be empty.');
}

/** A date, which begins in UTC, or a time with its zone. */
export function parseTimeOption(text: string): Date {
  const isDate = /^\d{4}-\d\d-\d\d$/.test(text);
  const withSeconds = text.replace(/(T\d\d:\d\d)(?=Z|[+-])/, '$1:00');
  const time = parseTime(isDate ? `${text}T00:00:00Z` : withSeconds);
  if (time) return time;
  throw new InvalidArgumentError('It must be a time, such as 2027-01-31 or 2027-01-31T12:00:00Z.');
}

/** The same, of what has happened. */
export function parsePastOption(text: string): Date {
  const time = parseTimeOption(text);
  if (!isFuture(time)) return time;
  throw new InvalidArgumentError('It must not be in the future.');
}

/** The same, of what is still to come. */
export function parseFutureOption(text: string): Date {
  const time = parseTimeOption(text);
  if (time.getTime() > Date.now()) return time;
  throw new InvalidArgumentError('It must be in the future.');
}

/** A parser that has the rule of the API, whose `validation_failed` becomes an invalid argument. */
export function checkedBy<Value>(check: (text: string) => Value) {
  return (text: string): Value => {
    try {
      return check(text);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const [issue] = error.details['issues'] as [Issue];
      throw new InvalidArgumentError(`It ${issue.message}.`);
    }
  };
}

export const parseEmail = checkedBy((text) => normaliseEmail(text));
export const parseName = checkedBy(requirePlainName);

/** For an option that may be given several times. */
export function collect(text: string, earlier: string[] | undefined): string[] {
  return [...(earlier ?? []), text];
}

/** A command on the database that prints one result, with `--json` or as lines. */
export type CommandSpec<Flags = object> = {
  name: string;
  description: string;
  argument?: readonly [name: string, description: string, parse?: (text: string) => string];
  /** Flags, description, and for a value its parser and default. */
  options?: [string, string, ((text: string, earlier: unknown) => unknown)?, unknown?][];
  required?: [flags: string, description: string, parse: (text: string) => string];
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
