import { readFileSync } from 'node:fs';
import { Option, type Command } from 'commander';
import { onFirstSignal } from '@orgdir/client/command/catch-signals';
import { loadConfig, findMisspelt } from '../settings/config.ts';
import { createLogger, type Logger } from '../runtime/log.ts';
import type { Service, WorkerProcess } from '../start/main.ts';
import type { WorkerMessage, WorkerSettings } from '../start/worker-processes.ts';

export function addServeCommand(program: Command, parent: number): void {
  program
    .command('serve')
    .description('Run the service: the public API and webhook delivery.')
    .option('--no-demo', 'do not load demo data at the first start on the embedded database')
    .addOption(
      new Option(
        '--worker-process <number>',
        'run one of the processes of WORKERS; serve itself starts them',
      ).hideHelp(),
    )
    .addHelpText(
      'after',
      '\nExamples:\n  orgdir serve\n  PORT=8080 WEBHOOK_ALLOWED_NETWORKS=127.0.0.0/8 WEBHOOK_ALLOW_HTTP=true orgdir serve',
    )
    .action(({ demo, workerProcess }: { demo: boolean; workerProcess?: string }) =>
      workerProcess === undefined
        ? serve(demo, parent)
        : runWorkerProcess(Number(workerProcess), parent),
    );
}

async function serve(demo: boolean, parent: number): Promise<void> {
  const config = loadConfig(process.env);
  const log = createLogger(config.logLevel);
  for (const suspect of findMisspelt(process.env).suspects) log.warn(suspect, 'setting.suspected');
  const stopping = catchSignals(parent, log);
  if (stopping.aborted) return;
  // Imported here, because the other commands start in half the time without the HTTP part.
  const { startService } = await import('../start/main.ts');
  const service = await startService(config, log, {
    demo,
    signal: stopping,
    onFatal: (reason) => {
      console.error(reason);
      process.exit(1);
    },
  }).catch((error: unknown) => {
    if (!stopping.aborted) throw error;
    log.info('service.stopped');
  });
  if (service) {
    welcome(service, config.publicUrl);
    await untilAborted(stopping);
    await service.stop();
  }
  // A statement of a cut request may still wait for its result, so the process would not end by itself.
  process.exit(0);
}

/** Runs until the process that started it sends a stop, or dies. */
async function runWorkerProcess(number: number, parent: number): Promise<void> {
  try {
    await serveAsWorker(number, parent);
  } catch (error) {
    // The channel would keep the process, and the one that started it waits for its end.
    process.disconnect?.();
    throw error;
  }
  process.exit(0);
}

async function serveAsWorker(number: number, parent: number): Promise<void> {
  const started = Promise.withResolvers<WorkerProcess>();
  const { settings, ended } = serveParent(started.promise);
  // The process that started it may still be opening the database.
  const { startWorkerProcess } = await import('../start/main.ts');
  const given = await Promise.race([settings, ended]);
  if (!given) return;
  const config = loadConfig({ ...process.env, ...given });
  const log = createLogger(config.logLevel);
  const stopping = catchSignals(parent, log);
  if (stopping.aborted) return;
  const worker = await startWorkerProcess(config, log, number);
  started.resolve(worker);
  await Promise.race([untilAborted(stopping), ended]);
  await worker.stop();
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve());
    if (signal.aborted) resolve();
  });
}

/** Sends metrics on request. `ended` resolves when the process must stop. */
function serveParent(started: Promise<WorkerProcess>) {
  const settings = Promise.withResolvers<WorkerSettings>();
  const ended = Promise.withResolvers<undefined>();
  process.on('message', (message: WorkerMessage) => {
    if (message === 'stop') ended.resolve(undefined);
    else if (message === 'metrics') void sendMetrics(started);
    else settings.resolve(message.settings);
  });
  process.once('disconnect', () => ended.resolve(undefined));
  if (!process.connected) ended.resolve(undefined);
  return { settings: settings.promise, ended: ended.promise };
}

async function sendMetrics(started: Promise<WorkerProcess>): Promise<void> {
  const worker = await started;
  // The callback takes the error if the parent has just died.
  process.send?.(await worker.metrics(), () => {});
}

/** How often a process that npm started looks whether its parent has ended. */
const parentPollMs = 200;
/** Whatever has not ended then: an embedded database goes on with its stop by itself. */
const stopMsMax = 4_700;

/**
 * The first signal stops the service gracefully, or its start; a second one at once. `npx` starts a command in a shell and sends a
 * signal to the shell only, which ends without passing it on: under npm, the end of the parent is such a signal.
 */
function catchSignals(parent: number, log: Logger): AbortSignal {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  const cut = () => {
    log.warn({ afterMs: stopMsMax }, 'service.cut');
    process.exit(0);
  };
  stopping.signal.addEventListener('abort', () => setTimeout(cut, stopMsMax).unref());
  if (process.env['npm_lifecycle_event'] !== undefined) {
    const look = () => (process.ppid !== parent || isAdopted(parent)) && stop();
    setInterval(look, parentPollMs).unref();
    look();
  }
  onFirstSignal(stop);
  return stopping.signal;
}

/** Whether the first process has taken over this one. In a container it may be npm itself, and in the same group. */
function isAdopted(parent: number): boolean {
  if (parent !== 1) return false;
  const [own, first] = ['self', '1'].map(groupOf);
  return own !== first || own === null;
}

/** Of `/proc/PID/stat`: the fields after the program's name, which may contain anything. */
function groupOf(pid: string): string | null {
  try {
    return (
      readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')[2] ?? null
    );
  } catch {
    return null;
  }
}

function welcome(
  { address, internalAddress, demoKey, firstAccountLink, passwordLinks }: Service,
  publicUrl: string,
): void {
  const metrics = `Metrics:   ${internalAddress}/metrics`;
  if (address === null) return console.log(metrics);
  const lines = [
    `Serving at ${address}  (documentation: ${address}/docs)`,
    // Sign-in works only at the public address: cookies and redirects belong to it.
    `Portal:    ${publicUrl}/profile/developer`,
    metrics,
  ];
  if (demoKey) {
    lines.push(
      `Demo key:  ${demoKey}`,
      `Try it:    curl -H "Authorization: Bearer ${demoKey}" "${address}/api/v1/orgs?limit=3"`,
    );
  }
  if (firstAccountLink)
    lines.push(`First account (link works once, within a day): ${firstAccountLink}`);
  if (passwordLinks === null)
    lines.push(
      'Mail is off (SMTP_URL is not set): users cannot sign up with a password or reset it, and no notices are sent.',
      'Run `orgdir accounts link EMAIL` to create a sign-up or reset link.',
    );
  console.log(lines.join('\n'));
}
