/** Starts a program in a separate process, on a separate core if the system can pin it. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';

export type Started = {
  pid: number;
  /** The address that it listens on, or null. */
  port: number | null;
  /** The first message that it sends. */
  said: Promise<unknown[]>;
  ask<Answer>(message: object): Promise<Answer>;
  stop(): Promise<void>;
};

const canPin = spawnSync('taskset', ['--version']).status === 0;
const startDeadlineMs = 60_000;
const lookMs = 20;

/** The core of the compared servers; everything else runs on the other core. */
export const serverCore = 0;
export const loadCore = 1;

/** Moves this process to a core. Processes that it starts afterwards, such as the database, stay there too. */
export function moveTo(core: number): void {
  if (canPin) spawnSync('taskset', ['-acp', String(core), String(process.pid)]);
}

/** Starts a file. Resolves when the server prints its address. */
export async function startProcess(
  file: string,
  options: {
    args?: string[];
    env?: Record<string, string>;
    /** The core to pin it to. Default: any. */
    core?: number;
    listens: boolean;
    runsItself?: boolean;
    /** Gets its output, which is read until it prints its address. */
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

/** Stops reading when it is found: reading a log line per delivery would affect the measurement. */
async function listeningPort(child: ChildProcess, logFile: string | undefined): Promise<number> {
  const signal = AbortSignal.timeout(startDeadlineMs);
  let output = '';
  if (logFile === undefined) child.stdout?.on('data', (chunk: Buffer) => (output += chunk));
  while (child.exitCode === null) {
    if (signal.aborted) throw new Error('the process does not listen');
    if (logFile !== undefined) output = await readFile(logFile, 'utf8');
    const port = /(?:Serving at|Metrics:) +http:\/\/127\.0\.0\.1:(\d+)/.exec(output)?.[1];
    if (port !== undefined) {
      child.stdout?.removeAllListeners('data').resume();
      return Number(port);
    }
    await wait(lookMs);
  }
  throw new Error(`the process ended with ${child.exitCode}`);
}
