/** Runs a command in the test's own process: for what is about its answer alone, a process for each would mostly start. */
import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { createProgram } from '../../src/commands/program.ts';
import { reportError } from '../../src/commands/report-error.ts';
import { toUrl, type TestDatabase } from './database.ts';
import type { CommandResult } from './run-command.ts';
import { testPublicUrl } from './service.ts';

const signals = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const;

/**
 * One at a time: the environment, which `env` is added to while it runs, and the output are the process's. DATABASE_URL, which
 * names the server of all tests, does not count.
 */
export async function runHere(
  words: string[],
  env: Record<string, string>,
): Promise<CommandResult> {
  const { exitCode } = process;
  process.exitCode = 0;
  const before = { ...process.env };
  const handlers = signals.map((signal) => process.listeners(signal));
  const [stdout, stderr] = [capture(process.stdout), capture(process.stderr)];
  delete process.env['DATABASE_URL'];
  Object.assign(process.env, env);
  try {
    const failed = await perform(words);
    return {
      code: failed ?? exitCodeNow(),
      stdout: stdout.text(),
      stderr: stderr.text(),
    };
  } finally {
    process.exitCode = exitCode;
    // A command ends with its process, so it leaves its handlers.
    for (const [index, signal] of signals.entries())
      for (const handler of process.listeners(signal))
        if (!handlers[index]?.includes(handler)) process.off(signal, handler);
    for (const output of [stdout, stderr]) output.restore();
    for (const name of Object.keys(env)) delete process.env[name];
    Object.assign(process.env, before);
  }
}

/** Commands on a test's database: `run` has how one ended, and `json` what one printed that succeeded. */
export function commandsOn(
  { connection }: Pick<TestDatabase, 'connection'>,
  env: Record<string, string> = {},
) {
  const run = (...words: string[]) =>
    runHere(words, { DATABASE_URL: toUrl(connection), PUBLIC_URL: testPublicUrl, ...env });
  const json = async (...words: string[]): Promise<any> => {
    const { code, stdout, stderr } = await run(...words, '--json');
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  return { run, json };
}

function exitCodeNow(): number {
  return Number(process.exitCode ?? 0);
}

/** Like `run` in `commands/program.ts`. Null if nothing was thrown. */
async function perform(words: string[]): Promise<number | null> {
  const json = words.includes('--json');
  try {
    const program = await createProgram(words, json ? { writeErr: () => {} } : {});
    await program.parseAsync(words, { from: 'user' });
    return null;
  } catch (error) {
    return reportError(error, json);
  }
}

/** The text output; the test runner, which shares the output, writes bytes. */
function capture(stream: NodeJS.WriteStream): { text(): string; restore(): void } {
  const original = stream.write.bind(stream) as (...args: unknown[]) => boolean;
  let text = '';
  const written = mock.method(stream, 'write', (...args: unknown[]) => {
    const [chunk] = args;
    if (typeof chunk !== 'string') return original(...args);
    text += chunk;
    const done = args.at(-1);
    if (typeof done === 'function') process.nextTick(done);
    return true;
  });
  return { text: () => text, restore: () => written.mock.restore() };
}
