/** Starts a program of the bench as a process of its own, on a core of its own where the system can pin. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export type Started = {
  pid: number;
  /** Where it listens; null for one that does not. */
  port: number | null;
  ask<Answer>(message: object): Promise<Answer>;
  stop(): Promise<void>;
};

const canPin = spawnSync('taskset', ['--version']).status === 0;
const startDeadlineMs = 60_000;

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
    core: number;
    listens: boolean;
    runsItself?: boolean;
  },
): Promise<Started> {
  const command = [
    ...(options.runsItself ? [] : [process.execPath]),
    file,
    ...(options.args ?? []),
  ];
  if (canPin) command.unshift('taskset', '-c', String(options.core));
  const [program = '', ...args] = command;
  const child = spawn(program, args, {
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const port = options.listens ? await listeningPort(child) : null;
  return {
    pid: child.pid as number,
    port,
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

async function listeningPort(child: ChildProcess): Promise<number> {
  if (!child.stdout) throw new Error('the process has no output');
  const lines = createInterface({ input: child.stdout });
  const signal = AbortSignal.timeout(startDeadlineMs);
  const found = new Promise<number>((resolve, reject) => {
    lines.on('line', (line) => {
      const port = /Serving at http:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1];
      if (port !== undefined) resolve(Number(port));
    });
    child.once('exit', (code) => reject(new Error(`the process ended with ${code}`)));
    signal.addEventListener('abort', () => reject(new Error('the process does not listen')));
  });
  return found;
}
