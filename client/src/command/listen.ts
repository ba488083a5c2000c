/** Streams the app's events to this machine, signed as deliveries are: to a handler, or to a receiver that prints them. */
import { ApiError } from '../api-error.ts';
import { openConnection, type Connection } from '../connection.ts';
import { OrgdirError } from '../orgdir-error.ts';
import { UnexpectedResponseError } from '../unexpected-response-error.ts';
import { catchSignals } from './catch-signals.ts';
import { CommandError, cannotStart } from './command-error.ts';
import { escapeControls, toJsonLine } from './escape-controls.ts';
import { followStream } from './follow-stream.ts';
import { forward, printReport } from './forward.ts';
import { startReceiver } from './receive-deliveries.ts';
import { showDelivery, type Showing } from './receive.ts';
import { ownSecret, type OwnSecret } from './secrets.ts';

export type Listening = Showing & {
  service: string;
  apiKey: string;
  /** Null: a receiver of the command's own. */
  forwardTo: URL | null;
  port: number;
  /** The webhook whose events are streamed; otherwise those of the app. */
  webhook: string | undefined;
  /** Only these events. Empty: all. */
  events: string[];
  replay: number;
};

/** Ends on a signal, and when standard output is closed. */
export async function listen(options: Listening): Promise<void> {
  const { service, apiKey, forwardTo, port, webhook, events, replay, json } = options;
  const connection = openConnection({ baseUrl: service, apiKey });
  const own = await ownSecret();
  // It is shown once, so before anything else can fail.
  printSecret(own, json);
  const receiver = forwardTo
    ? null
    : await startReceiver({
        port,
        status: options.status,
        onDelivery: (delivery) => showDelivery(delivery, [own.secret], options),
      });
  const signals = catchSignals();
  const { signal } = signals;
  let isStarted = false;
  const target = forwardTo ?? new URL(receiver?.url ?? '');
  const matches = (name: string) => events.length === 0 || events.includes(name);
  try {
    const serviceName = await readServiceName(connection, signal);
    const stream = followStream(
      connection,
      // The service filters by one name, and knows it of its stream without a webhook only.
      { webhook, event: events.length === 1 && webhook === undefined ? events[0] : undefined },
      {
        replay,
        signal,
        matches,
        onOpen: () => {
          if (isStarted) console.error('Connected again.');
          else printStart(target, options);
          isStarted = true;
        },
        onOutage: ({ message }) => {
          const reason = message.replace(/\.$/, '');
          console.error(escapeControls(`No events come: ${reason}. Connecting again.`));
        },
      },
    );
    for await (const each of stream) {
      if (!matches(each.event)) continue;
      if (forwardTo && json)
        console.log(toJsonLine({ type: 'event', id: each.id, event: each.event, body: each.text }));
      const report = await forward(each, { target, secret: own.secret, serviceName, signal });
      // The command's own receiver has printed it.
      if (forwardTo) printReport(report, json);
    }
  } catch (error) {
    if (!signal.aborted) throw explain(error, service);
  } finally {
    await receiver?.stop();
    signals.remove();
  }
}

/** `SERVICE_NAME` of the service, from the header names in its description. */
async function readServiceName(connection: Connection, signal: AbortSignal): Promise<string> {
  const { webhooks } = await connection.send<{
    webhooks?: Record<string, { post?: { parameters?: { name?: string }[] } }>;
  }>({ path: ['openapi.json'], options: { signal } });
  const headers = Object.values(webhooks ?? {}).flatMap(({ post }) => post?.parameters ?? []);
  for (const { name = '' } of headers) {
    const found = /^X-([A-Za-z0-9]+)-Event$/.exec(name)?.[1];
    if (found !== undefined) return found;
  }
  return 'Service';
}

function printStart(target: URL, { json, webhook, service, forwardTo }: Listening): void {
  const url = target.href;
  if (json) return console.log(toJsonLine({ type: 'listening', url, webhookId: webhook ?? null }));
  const what = webhook === undefined ? 'events' : `the events of webhook ${webhook}`;
  const how = forwardTo
    ? `Forwarding ${what} of ${service} to`
    : `Receiving ${what} of ${service} at`;
  console.log(escapeControls(`${how} ${url}. Press Ctrl-C to stop.`));
}

/** The secret itself is printed once. */
export function printSecret({ secret, source, isNew }: OwnSecret, json: boolean): void {
  if (json && isNew) console.log(toJsonLine({ type: 'secret', secret, file: source }));
  if (json) return;
  if (!isNew) return console.log(escapeControls(`Signing with the secret in ${source}.`));
  console.log(`Signing with a new secret: ${secret}`);
  console.log(
    escapeControls(`It is kept in ${source} and not shown again. Your handler verifies with it.`),
  );
}

/** Says how to get a key that the stream accepts. */
function explain(error: unknown, service: string): unknown {
  if (error instanceof ApiError) {
    const hint =
      error.status === 401 || error.code === 'forbidden'
        ? ' Create a key with the scope read:events in the portal, at /profile/developer.'
        : '';
    return new CommandError(
      error.code,
      `the service refused the request: ${error.message} (${error.code})${hint}`,
      { cause: error },
    );
  }
  if (error instanceof UnexpectedResponseError)
    return cannotStart(
      `${service} is not the service: ${error.message}; check --service or ORGDIR_URL`,
      { cause: error },
    );
  if (error instanceof OrgdirError)
    return cannotStart(`${service} does not respond: ${error.message}`, { cause: error });
  return error;
}
