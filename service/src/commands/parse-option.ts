/** Parses the values of options. For an invalid value commander names the option, and the command exits with 2. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { requirePlainName } from '../access/require-plain-name.ts';
import { normaliseEmail } from '../access/email.ts';
import { isFuture, parseTime } from '../contract/parse-time.ts';
import { uuidPattern } from '../contract/patterns.ts';
import { ServiceError, type Issue } from '../errors.ts';
import type { Config } from '../settings/config.ts';
import type { Change, Database } from '../database/database.ts';
import type { OpenedDatabase } from '../start/open-database.ts';
import { print, withDatabase, type OpenOptions } from './with-database.ts';

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

/** Of an app, a webhook or a key, in the examples of the help. */
export const exampleId = '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f';

/** `--limit` of a list. */
export function limitOption(noun: string, most: number, usual: number): Option {
  return new Option('--limit <count>', `maximum number of ${noun}, 1 to ${most}`)
    .argParser(parseInteger(1, most))
    .default(usual);
}

/** An option that must be given. */
export function requiredOption(
  flags: string,
  description: string,
  parse: (text: string) => unknown = String,
): Option {
  return new Option(flags, description).argParser(parse).makeOptionMandatory();
}

type Argument = readonly [
  name: string,
  description: string,
  parse?: (text: string, earlier: never) => unknown,
];

/** A command on the database that prints one result, with `--json` or as lines. */
export type CommandSpec<Flags = object, Value = string> = {
  name: string;
  description: string;
  argument?: Argument;
  /** Of commands that take two. */
  secondArgument?: Argument;
  /** Those without choices or conflicts: flags, description, and for a value its parser and default. */
  options?: (Option | [string, string, ((text: string, earlier: unknown) => unknown)?, unknown?])[];
  /** What the help says after the options. */
  note?: string;
  /** What follows the name in the examples of the help. */
  example?: string | string[];
  /** What precedes the name in them. */
  exampleEnvironment?: string;
  /** How the database is opened. */
  open?: OpenOptions | ((flags: Flags) => OpenOptions);
  /** Runs before the database is opened. Throws, or ends with `command.error`, if the flags do not go together. */
  check?: (given: Pick<Given<Flags, Value>, 'given' | 'flags' | 'command'>) => void;
  act: (given: Given<Flags, Value>) => Promise<[value: unknown, lines: string[]]>;
};
type Given<Flags, Value> = {
  database: Database;
  opened: OpenedDatabase;
  /** Makes a change in one transaction. */
  change: Change;
  config: Config;
  /** The argument, as it was parsed; empty without one. */
  given: Value;
  second: string;
  flags: Flags;
  command: Command;
};

export function addCommand<Flags = object, Value = string>(
  parent: Command,
  spec: CommandSpec<Flags, Value>,
): void {
  const { argument, secondArgument, options = [], open = {}, check, act } = spec;
  const command = parent.command(spec.name).description(spec.description);
  for (const each of [argument, secondArgument]) if (each) command.argument(...each);
  for (const option of options)
    if (option instanceof Option) command.addOption(option);
    else addOption(command, ...option);
  command
    .option('--json', 'print JSON')
    .addHelpText('after', helpOf(command, spec))
    .action(async (...words: unknown[]) => {
      const [given, second] = [argument, secondArgument].map((each, index) =>
        each ? words[index] : '',
      ) as [Value, string];
      // A parent may have `--json`, too, and takes it.
      const flags = command.optsWithGlobals<Flags & { json?: boolean }>();
      check?.({ given, flags, command });
      const [value, lines] = await withDatabase(
        (opened, config) => {
          const { database } = opened;
          const change: Change = (work) => database.transaction().execute(work);
          return act({ database, opened, change, config, given, second, flags, command });
        },
        typeof open === 'function' ? open(flags) : open,
      );
      print(flags.json, value, lines);
    });
}

function addOption(
  command: Command,
  flags: string,
  description: string,
  parse?: (text: string, earlier: unknown) => unknown,
  usual?: unknown,
): void {
  if (parse) command.option(flags, description, parse, usual);
  else command.option(flags, description);
}

function helpOf(
  command: Command,
  {
    note,
    example = '',
    exampleEnvironment,
  }: Pick<CommandSpec, 'note' | 'example' | 'exampleEnvironment'>,
): string {
  const name = [exampleEnvironment ?? [], pathOf(command)].flat().join(' ');
  const examples = [example].flat().map((each) => `  ${name} ${each}`.trimEnd());
  const title = examples.length > 1 ? 'Examples:' : 'Example:';
  return [...(note === undefined ? [] : ['', note]), '', title, ...examples].join('\n');
}

/** `orgdir apps members list` */
function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}
