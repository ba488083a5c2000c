import { userInfo } from 'node:os';
import { onFirstSignal } from '@orgdir/client/command/catch-signals';
import { escapeControls, toJsonLine } from '@orgdir/client/command/escape-controls';
import { loadConfig, type Config } from '../settings/config.ts';
import { isConnectionFault, isExhausted, isStatementTimeout } from '../database/database.ts';
import { StartError } from '../errors.ts';
import { openConfiguredDatabase, type OpenedDatabase } from '../start/open-database.ts';
import type { Actor } from '../access/actor.ts';

export type OpenOptions = {
  /** False for a command that must clean up on a signal before the database is closed. */
  endsOnSignal?: boolean;
  unmigrated?: boolean;
  /** Whether statements may take as long as it takes. */
  waits?: boolean;
  /** Refuses an embedded database that a service uses, and keeps services from using it meanwhile. */
  alone?: boolean;
};

/** Shown by `pg_stat_activity`. */
export const toolName = `orgdir tool, pid ${process.pid}`;

/** Runs a command on the configured database: next to a running service, or with the embedded server started for it. */
export async function withDatabase<T>(
  run: (opened: OpenedDatabase, config: Config) => Promise<T>,
  { endsOnSignal = true, unmigrated = false, waits = false, alone = false }: OpenOptions = {},
): Promise<T> {
  const config = loadConfig(process.env);
  const opening = openConfiguredDatabase(config, {
    purpose: alone && config.databaseUrl === null ? 'service' : 'tool',
    applicationName: toolName,
    unmigrated,
    waits,
  });
  let isOpen = false;
  // A server of its own may be starting, and must not be left. Another one rolls back what it has not committed, a migration too.
  const canLeave = () => !isOpen && config.databaseUrl !== null;
  const signals = endsOnSignal ? endOnSignal(opening, canLeave) : null;
  try {
    const opened = await opening;
    isOpen = true;
    try {
      return await run(opened, config);
    } finally {
      await opened.close();
    }
  } catch (error) {
    // The process is about to exit, and the error only comes from the interruption.
    if (signals?.received()) return await new Promise<never>(() => {});
    if (!isConnectionFault(error)) throw error;
    throw describeFault(error as Error, isOpen);
  } finally {
    signals?.remove();
  }
}

function describeFault(cause: Error, isOpen: boolean): StartError {
  const { message } = cause;
  if (isStatementTimeout(cause))
    return new StartError(
      `a statement took too long, and changed nothing; run the command again: ${message}`,
      { cause },
    );
  if (isExhausted(cause))
    return new StartError(
      `the database server has no disk or memory left, and a statement changed nothing: ${message}`,
      { cause },
    );
  if (!isOpen)
    return cause instanceof StartError
      ? cause
      : new StartError(`the database cannot be used: ${message}`, { cause });
  // It may have been lost between a commit and its confirmation.
  return new StartError(
    `the connection to the database was lost; if the command makes a change, look whether it was made before you run it again: ${message}`,
    { cause },
  );
}

/**
 * On Ctrl-C, stops a database that this command has started or is starting; uncommitted changes roll back. A second
 * signal ends the process at once, and so does the first if it `canLeave`.
 */
export function endOnSignal(
  opening: Promise<{ close(): Promise<void> }>,
  canLeave: () => boolean = () => false,
) {
  let isReceived = false;
  const remove = onFirstSignal((code) => {
    isReceived = true;
    if (canLeave()) process.exit(code);
    void opening
      .then((opened) => opened.close())
      .catch(() => {})
      .finally(() => process.exit(code));
  });
  return { received: () => isReceived, remove };
}

/** Prints a result as JSON or as lines for people. */
export function print(json: boolean | undefined, value: unknown, lines: string[]): void {
  console.log(json ? toJsonLine(value) : lines.map(escapeControls).join('\n'));
}

/** Formats a table with aligned columns, for people. */
export function table(header: string[], rows: string[][]): string[] {
  const shown = rows.map((row) => row.map(escapeControls));
  const widths = header.map((title, column) =>
    Math.max(title.length, ...shown.map((row) => row[column]?.length ?? 0)),
  );
  return [header, ...shown].map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** The actor of a command: the machine's user. */
export function cliActor(): Actor {
  return { kind: 'cli', id: null, name: userName() };
}

/** In a container a user may have a number and no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/**
 * Shows how far a command is, on standard error if that is a terminal; null clears it. It reads no input, which belongs to
 * the command.
 */
export function createProgressLine(): (text: string | null) => void {
  if (!process.stderr.isTTY) return () => {};
  let isShown = false;
  return (text) => {
    if (text === null) return clear();
    if (!isShown) process.once('exit', clear);
    isShown = true;
    process.stderr.write(`\r${text}`);
  };

  /** Also called when a signal ends the process. */
  function clear(): void {
    if (isShown) process.stderr.write('\r\u001B[K');
    isShown = false;
    process.off('exit', clear);
  }
}
