/** Receives what the service itself sends to this machine, verifies and prints it, until a signal. */
import { catchSignals } from './catch-signals.ts';
import { escapeControls, toJsonLine } from './escape-controls.ts';
import { describeDelivery, formatDelivery, verifyDelivery } from './format-delivery.ts';
import { startReceiver, type ReceivedDelivery } from './receive-deliveries.ts';
import type { Registration } from './register-by-key.ts';

export type Showing = {
  /** The status of every response. */
  status: number;
  json: boolean;
};

export type Receiving = Showing & {
  /** 0: any free one. */
  port: number;
  /** Those of webhooks that send here anyway. */
  secrets: string[];
  /** Registers the receiver's address as a webhook while it runs. */
  register: ((url: string) => Promise<Registration>) | null;
};

export async function receive({ port, secrets: given, register, ...showing }: Receiving) {
  let provide: (secrets: string[]) => void = () => {};
  const secrets = new Promise<string[]>((resolve) => (provide = resolve));
  const receiver = await startReceiver({
    port,
    status: showing.status,
    onDelivery: async (delivery) => showDelivery(delivery, await secrets, showing),
  });
  // Caught only from here on: until now there is nothing to clean up.
  const signals = catchSignals();
  let registration: Registration | null = null;
  try {
    registration = register && (await register(receiver.url));
    provide(registration ? [registration.secret, ...given] : given);
    printStart(receiver.url, registration?.id ?? null, showing.json);
    await aborted(signals.signal);
  } finally {
    // Deliveries may still wait for a secret that will not come.
    provide(given);
    await receiver.stop();
    if (registration) await unregister(registration, showing.json);
    signals.remove();
  }
}

/** Verifies a delivery where there are secrets, and prints it. */
export async function showDelivery(
  delivery: ReceivedDelivery,
  secrets: string[],
  { status, json }: Showing,
): Promise<void> {
  const signatures =
    secrets.length === 0 ? null : await verifyDelivery(delivery.body, delivery.headers, secrets);
  const shown = describeDelivery(delivery, signatures, status);
  console.log(json ? toJsonLine(shown) : formatDelivery(shown));
}

function printStart(url: string, webhookId: string | null, json: boolean): void {
  const as = webhookId === null ? '' : ` as webhook ${webhookId}`;
  const text = escapeControls(`Listening at ${url}${as}. Press Ctrl-C to stop.`);
  console.log(json ? toJsonLine({ type: 'listening', url, webhookId }) : text);
}

async function unregister(registration: Registration, json: boolean): Promise<void> {
  await registration.remove();
  if (!json) console.log(escapeControls(`Deleted webhook ${registration.id}.`));
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
