/**
 * Runs the worker as several processes (WORKERS). This process starts them, restarts one that dies, writes their log
 * lines and adds their metrics to its own. A worker process stops gracefully when it is asked to, or when the channel to
 * this process closes: `commands/serve-command.ts`. Why: docs/decisions/0027-processes.md.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ConnectionSettings } from '../database/database.ts';
import { writeLines, type Logger } from '../runtime/log.ts';
import type { Metrics, ProcessMetrics } from '../runtime/metrics.ts';

/** Environment variables in addition to those of this process. */
export type WorkerSettings = Record<string, string>;
export type WorkerMessage = 'metrics' | 'stop' | { settings: WorkerSettings };

export type WorkerProcessesOptions = {
  config: { workers: number };
  connection: ConnectionSettings;
  secretKeys: Buffer[];
  metrics: Pick<Metrics, 'workers' | 'workerEnded'>;
  log: Logger;
  /** Waits for its settings. */
  first?: ChildProcess | undefined;
};

const commandFile = fileURLToPath(new URL('../../bin/orgdir.js', import.meta.url));
/** The pause before a restart grows from the first to the second of these. */
const restartMsMin = 250;
const restartMsMax = 8_000;
/** A process that ran for this long was healthy, so the pause starts again at its minimum. */
const healthyAfterMs = 60_000;
/** A scrape leaves out a process that does not respond. */
const metricsTimeoutMs = 1_000;

export function createWorkerProcesses(options: WorkerProcessesOptions) {
  const { config, metrics } = options;
  const running = new Set<ChildProcess>();
  const up = new WeakSet<ChildProcess>();
  const stopping = new AbortController();
  let ended: Promise<unknown> | null = null;
  metrics.workers(async () => (await Promise.all([...running].map(readMetrics))).flat());
  return {
    start(): void {
      // After a second signal, a fatal error or a bug in this process.
      process.once('exit', () => running.forEach((child) => child.kill('SIGKILL')));
      const numbers = Array.from({ length: config.workers }, (_, index) => index + 1);
      for (const number of numbers) metrics.workerEnded(number, 0);
      // Otherwise all would start at the speed of the slowest, and those that deliver already would wait for a processor.
      let previousIsUp = Promise.resolve();
      ended = Promise.all(
        numbers.map(async (number) => {
          const isUp = Promise.withResolvers<void>();
          const turn = previousIsUp;
          previousIsUp = isUp.promise;
          await turn;
          await keepRunning(number, { ...options, running, up, stopping, onUp: isUp.resolve });
        }),
      );
    },
    /** Stops all processes gracefully and waits for their end. May be called twice. */
    async stop(): Promise<void> {
      stopping.abort();
      for (const child of running) {
        if (up.has(child)) send(child, 'stop');
        // It reads no message before it has started, and has nothing to record.
        else child.kill();
      }
      await ended;
    },
  };
}

type Supervised = WorkerProcessesOptions & {
  running: Set<ChildProcess>;
  /** Those that have responded. */
  up: WeakSet<ChildProcess>;
  stopping: AbortController;
  /** Called when a process delivers, or has ended. */
  onUp: () => void;
};

async function keepRunning(number: number, supervised: Supervised): Promise<void> {
  const { log, metrics, running, up, stopping, onUp } = supervised;
  for (let failures = 0; !stopping.signal.aborted; failures += 1) {
    const startedAt = performance.now();
    const child = startProcess(number, supervised);
    running.add(child);
    // A process responds once it has started.
    child.once('message', () => {
      up.add(child);
      onUp();
    });
    send(child, 'metrics');
    const end = await endOf(child);
    running.delete(child);
    onUp();
    if (stopping.signal.aborted) return;
    if (performance.now() - startedAt > healthyAfterMs) failures = 0;
    const restartMs = Math.min(restartMsMin * 2 ** failures, restartMsMax);
    metrics.workerEnded(number, 1);
    log.error({ worker: number, workerPid: child.pid, ...end, restartMs }, 'worker_process.ended');
    await wait(restartMs, undefined, { signal: stopping.signal }).catch(() => {});
  }
}

/** Starts a process that loads its modules and waits for its settings. */
export function forkWorkerProcess(number: number): ChildProcess {
  const child = fork(commandFile, ['serve', '--worker-process', String(number)], {
    env: { ...process.env, ROLES: 'worker', WORKERS: '1' },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  // The system refused it: `endOf` may listen later.
  child.on('error', () => {});
  return child;
}

function startProcess(number: number, supervised: Supervised): ChildProcess {
  const { first, log } = supervised;
  const isWaiting = number === 1 && first?.pid !== undefined && first.connected;
  const child = isWaiting ? first : forkWorkerProcess(number);
  send(child, { settings: embeddedSettings(supervised) });
  forwardLog(child, log);
  return child;
}

/** A worker process uses the embedded database as it uses a server of the operator's, and never starts or stops it. */
function embeddedSettings({
  connection,
  secretKeys,
}: Pick<WorkerProcessesOptions, 'connection' | 'secretKeys'>): WorkerSettings {
  if (connection.connectionString) return {};
  const { host = '', port, user = '', password, database } = connection;
  const query = new URLSearchParams({
    host,
    port: String(port),
    user,
    password: String(password),
  });
  return {
    DATABASE_URL: `postgres:///${database}?${query.toString()}`,
    SECRET_KEY: secretKeys.map((key) => key.toString('base64')).join(','),
  };
}

/** Several processes that write to one pipe would split each other's lines when it is full. */
function forwardLog({ stdout }: ChildProcess, log: Logger): void {
  let rest = '';
  stdout?.setEncoding('utf8').on('data', (text: string) => {
    const end = text.lastIndexOf('\n') + 1;
    if (end > 0) writeLines(log, rest + text.slice(0, end));
    rest = end > 0 ? text.slice(end) : rest + text;
  });
}

type End = { code: number | null; signal: NodeJS.Signals | null; err?: Error };

/** Resolves after the last log line. */
function endOf(child: ChildProcess): Promise<End> {
  return new Promise((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
    child.on('error', (err) => {
      // Without a process number it never started, and nothing else is emitted.
      if (child.pid === undefined) resolve({ code: null, signal: null, err });
    });
  });
}

function send(child: ChildProcess, message: WorkerMessage): void {
  // The callback takes the error if the process has just died.
  if (child.connected) child.send(message, () => {});
}

async function readMetrics(child: ChildProcess): Promise<ProcessMetrics[]> {
  if (!child.connected) return [];
  send(child, 'metrics');
  const signal = AbortSignal.timeout(metricsTimeoutMs);
  const response = (await once(child, 'message', { signal }).catch(() => [])) as ProcessMetrics[];
  return response.slice(0, 1);
}
