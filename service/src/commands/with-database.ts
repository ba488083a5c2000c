import { loadConfig, type Config } from '../config.ts';
import { isConnectionFault } from '../database/database.ts';
import { StartError } from '../errors.ts';
import { openConfiguredDatabase, type OpenedDatabase } from '../open-database.ts';

/** Runs a command on the configured database: beside a running service, or with the embedded server started for it. */
export async function withDatabase<T>(
  run: (opened: OpenedDatabase, config: Config) => Promise<T>,
): Promise<T> {
  const config = loadConfig(process.env);
  const opened = await openConfiguredDatabase(config, {
    purpose: 'tool',
    applicationName: `orgdir tool, pid ${process.pid}`,
  });
  endOnSignal(opened);
  try {
    return await run(opened, config);
  } catch (error) {
    if (!isConnectionFault(error)) throw error;
    throw new StartError(
      `the database went away while the command was at work, which kept nothing: ${(error as Error).message}`,
      { cause: error },
    );
  } finally {
    await opened.close();
  }
}

/** Ctrl-C leaves no database running that this command has started; what was not committed rolls back. */
function endOnSignal(opened: OpenedDatabase): void {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.once(signal, () => void opened.close().finally(() => process.exit(code)));
  }
}

/** Prints a result: JSON where asked, else the lines for people. */
export function print(json: boolean | undefined, value: unknown, lines: string[]): void {
  console.log(json ? JSON.stringify(value) : lines.join('\n'));
}

/** A table with aligned columns, for people. */
export function table(header: string[], rows: string[][]): string[] {
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  return [header, ...rows].map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
