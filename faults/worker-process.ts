/** Runs `orgdir serve` as a worker in a separate process, and keeps its log. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { killAll } from './processes.ts';
import { compileCache, recordProcess } from './run-folder.ts';

const ownCommand = fileURLToPath(new URL('../service/bin/orgdir.js', import.meta.url));

type Ended = { code: number | null; signal: NodeJS.Signals | null };
export type WorkerProcess = {
  pid: number;
  /** The lines of its log so far. */
  stdout(): string;
  stderr(): string;
  /** Resolves when it is ready; rejects if it ends before. */
  started: Promise<void>;
  ended: Promise<Ended>;
  hasEnded(): boolean;
  signal(signal: NodeJS.Signals): void;
  /** Sends SIGKILL and resolves when the process has ended. */
  kill(): Promise<void>;
};

/**
 * Its environment is `env` and PATH. `enter` is a command that runs another one, and becomes it: in a namespace.
 * `command` is the file of another version.
 */
export function startWorkerProcess(
  args: string[],
  env: Record<string, string>,
  { enter = [], command = ownCommand }: { enter?: string[]; command?: string | undefined } = {},
): WorkerProcess {
  const [program = '', ...rest] = [...enter, process.execPath, command, 'serve', ...args];
  const child = spawn(program, rest, {
    env: { PATH: process.env['PATH'] ?? '', NODE_COMPILE_CACHE: compileCache(), ...env },
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const pid = child.pid ?? 0;
  recordProcess(pid);
  const output: { stdout: string[]; stderr: string[] } = { stdout: [], stderr: [] };
  let left: Ended | null = null;
  const ended = once(child, 'close').then(([code, signal]) => (left = { code, signal }));
  const started = new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (text: string) => {
      output.stdout.push(text);
      if (text.includes('service.started')) resolve();
    });
    child.stderr.on('data', (text: string) => output.stderr.push(text));
    void ended.then(() => reject(new Error(`it ended: ${output.stderr.join('')}`)));
  });
  // Some are killed before they are ready, and nobody awaits them.
  started.catch(() => {});
  for (const name of ['stdout', 'stderr'] as const) child[name].setEncoding('utf8');
  return {
    pid,
    stdout: () => output.stdout.join(''),
    stderr: () => output.stderr.join(''),
    started,
    ended,
    hasEnded: () => left !== null,
    signal: (signal) => process.kill(pid, signal),
    async kill() {
      killAll([pid]);
      await ended;
    },
  };
}
