/** Starts a program of the bench as a process of its own, on a core of its own where the system can pin. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';

export type Started = {
  pid: number;
  /** Where it listens; null for one that does not. */
  port: number | null;
  /** The first message of one that says something by itself. */
  said: Promise<unknown[]>;
  ask<Answer>(message: object): Promise<Answer>;
  stop(): Promise<void>;
};

const canPin = spawnSync('taskset', ['--version']).status === 0;
const startDeadlineMs = 60_000;
const lookMs = 20;

/** The core of the servers that are compared; everything else is on the other. */
export const serverCore = 0;
export const loadCore = 1;

/** Moves this process to a core; those that it starts from now on, the database among them, stay there too. */
export function moveTo(core: number): void {
  if (canPin) spawnSync('taskset', ['-acp', String(core), String(process.pid)]);
}

/** Starts a file, by its own first line where it has one. Resolves when a server says where it listens. */
export async function startProcess(
  file: string,
  options: {
    args?: string[];
    env?: Record<string, string>;
    /** Where it is to stay; without one it may go where it likes. */
    core?: number;
    listens: boolean;
    runsItself?: boolean;
    /** Takes its output, which is read only until it says where it listens. */
    logFile?: string;
  },
): Promise<Started> {
  const command = [
    ...(options.runsItself ? [] : [process.execPath]),
    file,
    ...(options.args ?? []),
  ];
  if (canPin && options.core !== undefined) command.unshift('taskset', '-c', String(options.core));
  const [program = '', ...args] = command;
  const log = options.logFile === undefined ? null : await open(options.logFile, 'w');
  const child = spawn(program, args, {
    env: { ...process.env, INTERNAL_PORT: '0', ...options.env },
    stdio: ['ignore', log?.fd ?? 'pipe', 'inherit', 'ipc'],
  });
  await log?.close();
  const said = once(child, 'message');
  const port = options.listens ? await listeningPort(child, options.logFile) : null;
  return {
    pid: child.pid as number,
    port,
    said,
    async ask<Answer>(message: object) {
      child.send(message);
      const [answer] = (await once(child, 'message')) as [Answer];
      return answer;
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

/** Reads no more once it is found: whoever reads a log of one line a delivery takes part in what is measured. */
async function listeningPort(child: ChildProcess, logFile: string | undefined): Promise<number> {
  const signal = AbortSignal.timeout(startDeadlineMs);
  let output = '';
  if (logFile === undefined) child.stdout?.on('data', (chunk: Buffer) => (output += chunk));
  while (child.exitCode === null) {
    if (signal.aborted) throw new Error('the process does not listen');
    if (logFile !== undefined) output = await readFile(logFile, 'utf8');
    const port = /Serving at http:\/\/127\.0\.0\.1:(\d+)/.exec(output)?.[1];
    if (port !== undefined) {
      child.stdout?.removeAllListeners('data').resume();
      return Number(port);
    }
    await wait(lookMs);
  }
  throw new Error(`the process ended with ${child.exitCode}`);
}
