import { Option, type Command } from 'commander';
import { loadConfig } from '../settings/config.ts';
import { createLogger } from '../runtime/log.ts';
import { findMisspelt } from '../settings/misspelt-settings.ts';
import type { Service, WorkerProcess } from '../start/main.ts';
import type { WorkerMessage } from '../start/worker-processes.ts';
import { sameSignalMs, signalCodes } from './with-database.ts';

export function addServeCommand(program: Command): void {
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
      workerProcess === undefined ? serve(demo) : runWorkerProcess(Number(workerProcess)),
    );
}

async function serve(demo: boolean): Promise<void> {
  const config = loadConfig(process.env);
  const log = createLogger(config.logLevel);
  for (const suspect of findMisspelt(process.env).suspects) log.warn(suspect, 'setting.suspected');
  const signals = catchSignals();
  // Imported here, because the other commands start in half the time without the HTTP part.
  const { startService } = await import('../start/main.ts');
  const service = await startService(config, log, {
    demo,
    onFatal: (reason) => {
      console.error(reason);
      process.exit(1);
    },
  });
  welcome(service, config.publicUrl);
  await signals.first;
  await service.stop();
  // A statement of a cut request may still wait for its result, so the process would not end by itself.
  process.exit(0);
}

/** Runs until the process that started it sends a stop, or dies. */
async function runWorkerProcess(number: number): Promise<void> {
  const config = loadConfig(process.env);
  const log = createLogger(config.logLevel);
  const signals = catchSignals();
  const { startWorkerProcess } = await import('../start/main.ts');
  const worker = await startWorkerProcess(config, log, number);
  await Promise.race([signals.first, serveParent(worker)]);
  await worker.stop();
  process.exit(0);
}

/** Sends metrics on request. Resolves when the process must stop. */
function serveParent(worker: WorkerProcess): Promise<void> {
  return new Promise((resolve) => {
    process.on('message', (message: WorkerMessage) => {
      if (message === 'stop') resolve();
      // The callback takes the error if the parent has just died.
      else void worker.metrics().then((metrics) => process.send?.(metrics, () => {}));
    });
    process.once('disconnect', resolve);
    if (!process.connected) resolve();
  });
}

/** How often a process that npm started looks whether its parent has ended. */
const parentPollMs = 200;

/**
 * The first signal stops the service gracefully, a second one at once. `npx` starts a command in a shell and sends a signal to
 * the shell only, which ends without passing it on: under npm, the end of the parent is such a signal.
 */
function catchSignals(): { first: Promise<void> } {
  let signalledAt: number | null = null;
  const first = new Promise<void>((resolve) => {
    const parent = process.ppid;
    if (process.env['npm_lifecycle_event'] !== undefined)
      setInterval(() => process.ppid !== parent && resolve(), parentPollMs).unref();
    for (const [signal, code] of signalCodes) {
      process.on(signal, () => {
        if (signalledAt !== null && Date.now() - signalledAt > sameSignalMs) process.exit(code);
        signalledAt ??= Date.now();
        resolve();
      });
    }
  });
  return { first };
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
