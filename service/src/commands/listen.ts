/** Runs `orgdir listen`. `receive-deliveries.ts` receives, `verify-delivery.ts` verifies, `format-delivery.ts` prints. */
import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import { invalid } from '../errors.ts';
import { escapeControls, toJsonLine } from './escape-controls.ts';
import { startReceiver, type ReceivedDelivery } from './receive-deliveries.ts';
import { registerByKey, registerInDatabase, type Registration } from './register-listener.ts';
import { describeDelivery, formatDelivery, verifyDelivery } from './format-delivery.ts';
import { print, sameSignalMs, signalCodes } from './with-database.ts';

export type ListenFlags = {
  port: number;
  secret?: string[];
  status: number;
  register?: boolean;
  app?: string;
  key?: string;
  service: string;
  event?: string[];
  json?: boolean;
};

/** A webhook has two at most; several webhooks may send here. */
const secretsMax = 20;

export async function listen(flags: ListenFlags, command: Command): Promise<void> {
  checkFlags(flags, command);
  const given = await readSecrets(flags.secret ?? []);
  const key = flags.key === '-' ? (await readLines())[0] : flags.key;
  const secrets = Promise.withResolvers<string[]>();
  const receiver = await startReceiver({
    port: flags.port,
    status: flags.status,
    onDelivery: async (delivery) => show(delivery, await secrets.promise, flags),
  });
  // Caught only from here on: until now there is nothing to clean up.
  const signals = catchSignals();
  let registration: Registration | null = null;
  try {
    registration = await register(flags, key, receiver.url);
    secrets.resolve(registration ? [registration.secret, ...given] : given);
    printStart(receiver.url, registration, flags.json);
    await signals.first;
  } finally {
    // Deliveries may still wait for a secret that will not come.
    secrets.resolve(given);
    await receiver.stop();
    if (registration) await unregister(registration, flags.json);
    signals.remove();
  }
}

function checkFlags(
  { register: asked, app, key, secret, event }: ListenFlags,
  command: Command,
): void {
  if (asked && (app === undefined) === (key === undefined))
    command.error('error: --register requires either --app or --key');
  if (!asked && (app ?? key ?? event) !== undefined)
    command.error('error: --app, --key and --event require --register');
  if (key === '-' && secret?.includes('-'))
    command.error('error: --key and --secret cannot both be read from standard input');
}

/** No error message contains a secret. */
async function readSecrets(values: string[]): Promise<string[]> {
  const read = values.includes('-') ? await readLines() : [];
  const secrets = [...values.filter((value) => value !== '-'), ...read];
  if (secrets.length > secretsMax)
    throw invalid({ path: '--secret', message: `may be given at most ${secretsMax} times` });
  if (!secrets.every(isSecret))
    throw invalid({
      path: '--secret',
      message: 'must be whsec_ followed by base64, as it was shown',
    });
  return secrets;
}

function isSecret(text: string): boolean {
  const base64 = /^whsec_([A-Za-z0-9+/]{16,128}={0,2})$/.exec(text)?.[1] ?? '';
  return base64 !== '' && base64.length % 4 === 0;
}

/** Reads standard input, up to the number of secrets allowed. */
async function readLines(): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() !== '') lines.push(line.trim());
    if (lines.length > secretsMax) break;
  }
  return lines;
}

async function register(
  { app, service, event }: ListenFlags,
  key: string | undefined,
  url: string,
): Promise<Registration | null> {
  const listener = { url, events: event };
  if (app !== undefined) return registerInDatabase(app, listener);
  return key === undefined ? null : registerByKey(service, key, listener);
}

async function unregister(registration: Registration, json: boolean | undefined): Promise<void> {
  await registration.remove();
  if (!json) console.log(escapeControls(`Deleted webhook ${registration.id}.`));
}

async function show(
  delivery: ReceivedDelivery,
  secrets: string[],
  flags: ListenFlags,
): Promise<void> {
  const signatures =
    secrets.length === 0 ? null : await verifyDelivery(delivery.body, delivery.headers, secrets);
  const shown = describeDelivery(delivery, signatures, flags.status);
  console.log(flags.json ? toJsonLine(shown) : formatDelivery(shown));
}

function printStart(
  url: string,
  registration: Registration | null,
  json: boolean | undefined,
): void {
  const webhookId = registration?.id ?? null;
  const as = webhookId === null ? '' : ` as webhook ${webhookId}`;
  print(json, { type: 'listening', url, webhookId }, [
    `Listening at ${url}${as}. Press Ctrl-C to stop.`,
  ]);
}

/** The first signal ends it gracefully, a second one at once. So does a closed standard output. */
function catchSignals() {
  const { promise: first, resolve } = Promise.withResolvers<void>();
  let receivedAt: number | null = null;
  const handlers = signalCodes.map(([signal, code]) => {
    const onSignal = () => {
      if (receivedAt !== null && Date.now() - receivedAt > sameSignalMs) process.exit(code);
      receivedAt ??= Date.now();
      resolve();
    };
    process.on(signal, onSignal);
    return () => process.off(signal, onSignal);
  });
  const onClosed = () => resolve();
  process.stdout.on('error', onClosed);
  return {
    first,
    remove: () => {
      for (const remove of handlers) remove();
      process.stdout.off('error', onClosed);
    },
  };
}
