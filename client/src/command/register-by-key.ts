/** Registers a local receiver as a webhook while it runs, through the API. */
import { ApiError } from '../api-error.ts';
import { createClient, type Client } from '../create-client.ts';
import { OrgdirError } from '../orgdir-error.ts';
import { UnexpectedResponseError } from '../unexpected-response-error.ts';
import { cannotStart } from './command-error.ts';

export type Registration = {
  id: string;
  secret: string;
  /** Deletes the webhook and its pending deliveries. */
  remove(): Promise<void>;
};

export type Listener = { url: string; events: string[] | undefined };
type Webhook = { id: string; url: string; description: string | null };

/** Identifies the webhooks of receivers that were killed. */
export const description = 'orgdir listen';
/** The most that an operator can allow an app: one page. */
const webhooksMax = 100;
/** Short, because users should not have to wait for an unavailable service. */
const timeoutMs = 5_000;

/** `baseUrl` is the service's address. */
export async function registerByKey(
  baseUrl: string,
  apiKey: string,
  { url, events }: Listener,
): Promise<Registration> {
  return withHints(baseUrl, async () => {
    const { webhooks } = createClient({ baseUrl, apiKey, timeoutMs });
    const { data } = await webhooks.list({ limit: webhooksMax });
    for (const abandoned of await findAbandoned(data, url)) await webhooks.delete(abandoned.id);
    const { id, secret } = await webhooks.create({ url, description, ...(events && { events }) });
    return { id, secret, remove: () => withHints(baseUrl, () => remove(webhooks, id)) };
  });
}

async function remove(webhooks: Client['webhooks'], id: string): Promise<void> {
  try {
    await webhooks.delete(id, { retries: 1 });
  } catch (error) {
    // Somebody may have deleted it in the meantime.
    if (!(error instanceof ApiError && error.code === 'not_found')) throw error;
  }
}

/** Finds webhooks of receivers that were killed: at this address, or at another local address where nothing listens. */
export async function findAbandoned<Each extends Webhook>(
  webhooks: Each[],
  url: string,
): Promise<Each[]> {
  const ours = webhooks.filter((each) => each.description === description && isLocal(each));
  const listening = await Promise.all(
    ours.map(async (each) => each.url !== url && (await isListening(each.url))),
  );
  return ours.filter((_, index) => !listening[index]);
}

/** Only these addresses are probed, whatever the description says. */
function isLocal({ url }: Webhook): boolean {
  return /^http:\/\/127\.0\.0\.1:\d+\/$/.test(url);
}

async function isListening(url: string): Promise<boolean> {
  try {
    await fetch(url, { method: 'HEAD', signal: AbortSignal.timeout(timeoutMs) });
    return true;
  } catch (error) {
    return (error as Error).name === 'TimeoutError';
  }
}

/** How to let a service send to this machine. `reason` is the service's. */
export function notAllowedHere(reason: string): string {
  return `the service may not send to this machine; set WEBHOOK_ALLOWED_NETWORKS=127.0.0.0/8 and WEBHOOK_ALLOW_HTTP=true for the service and for this command (${reason})`;
}

async function withHints<T>(baseUrl: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof OrgdirError)) throw error;
    const options = { cause: error };
    if (error instanceof UnexpectedResponseError)
      throw cannotStart(`${baseUrl} is not the service: ${error.message}`, options);
    if (!(error instanceof ApiError))
      throw cannotStart(`the service does not respond: ${error.message}`, options);
    const issues = (error.details['issues'] ?? []) as { path: string }[];
    throw issues.some(({ path }) => path === 'body.url')
      ? cannotStart(notAllowedHere(error.message), options)
      : cannotStart(`the service refused the request: ${error.message} (${error.code})`, options);
  }
}
