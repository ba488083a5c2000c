/** Runs a command in the test's own process: for what is about its answer alone, a process for each would mostly start. */
import { mock } from 'node:test';
import { createProgram } from '../../src/commands/program.ts';

/** What it prints on standard output. One at a time; what it throws is thrown. `env` is added to the environment while it runs. */
export async function runHere(words: string[], env: Record<string, string>): Promise<string> {
  const before = { ...process.env };
  const lines: string[] = [];
  const printed = mock.method(console, 'log', (line: string) => lines.push(line));
  Object.assign(process.env, env);
  try {
    await createProgram().parseAsync(words, { from: 'user' });
    return `${lines.join('\n')}\n`;
  } finally {
    printed.mock.restore();
    for (const name of Object.keys(env)) delete process.env[name];
    Object.assign(process.env, before);
  }
}
