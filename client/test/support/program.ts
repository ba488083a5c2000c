/** Runs a Node.js program in a separate process with only the given environment. */
import { spawn } from 'node:child_process';
import { after } from 'node:test';

export type Program = {
  output(): string;
  /** Resolves with the match once the output has it; rejects where the program ends without it. */
  prints(pattern: RegExp): Promise<RegExpExecArray>;
  /** Resolves with its exit code; null where a signal ended it. */
  ended: Promise<number | null>;
  /** Like Ctrl-C. */
  interrupt(): void;
  /** Like a crash; resolves when the process has ended. */
  stop(): Promise<void>;
};
export type ProgramOptions = {
  /** Another Node.js than the one of this run. */
  node?: string;
  env?: Record<string, string>;
  cwd?: string;
};

/** Here, not where one is started: that may be within a test, and the program is to outlive it. */
const running = new Set<() => Promise<void>>();
after(() => Promise.all(Array.from(running, (stop) => stop())));

/** It is ended with the test file, if not before. */
export function startProgram(
  file: string,
  { node = process.execPath, env = {}, cwd }: ProgramOptions = {},
): Program {
  const child = spawn(node, [file], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let hasEnded = false;
  let changed: () => void = () => {};
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      changed();
    });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      hasEnded = true;
      running.delete(stop);
      changed();
      resolve(code);
    });
  });
  const stop = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  running.add(stop);

  async function prints(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(output);
      if (found) return found;
      if (hasEnded) throw new Error(`ended without ${String(pattern)}:\n${output}`);
      await new Promise<void>((resolve) => (changed = resolve));
    }
  }

  return { output: () => output, prints, ended, interrupt: () => void child.kill('SIGINT'), stop };
}
