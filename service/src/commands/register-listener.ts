/** Registers a local receiver as a webhook while it runs: in the database, or through the API of a running service. */
import { ApiError, createClient, OrgdirError } from '@orgdir/client';
import { readApp } from '../access/apps.ts';
import type { Database } from '../database/database.ts';
import { ServiceError, StartError, type Issue } from '../errors.ts';
import { readSecretKeys } from '../database/read-secret-keys.ts';
import { createSecretBox } from '../runtime/secret-box.ts';
import { createWebhook, deleteWebhook, listWebhooks } from '../webhooks/management/webhooks.ts';
import { cliActor } from './cli-actor.ts';
import { withDatabase } from './with-database.ts';

export type Registration = {
  id: string;
  secret: string;
  /** Deletes the webhook and its pending deliveries. */
  remove(): Promise<void>;
};

type Listener = { url: string; events: string[] | undefined };
type Webhook = { id: string; url: string; description: string | null };

/** Identifies the webhooks of receivers that were killed. */
const description = 'orgdir listen';
/** The limit per app. */
const webhooksMax = 20;
/** Short, because users should not have to wait for an unavailable service. */
const timeoutMs = 5_000;

/** Does the same as a member of the app would, but without a key. */
export async function registerInDatabase(appId: string, listener: Listener): Promise<Registration> {
  // `listen` handles signals, because it must delete the webhook first.
  const options = { endsOnSignal: false };
  const { id, secret } = await withDatabase(async (opened, config) => {
    const { database } = opened;
    await readApp(database, appId);
    const box = createSecretBox(await readSecretKeys(config, opened));
    const { webhooks } = await listWebhooks(database, appId, { page: 1, limit: webhooksMax });
    for (const abandoned of await findAbandoned(webhooks, listener.url))
      await remove(database, appId, abandoned.id);
    return withHints(() =>
      database.transaction().execute((tx) =>
        createWebhook(tx, cliActor(), appId, { ...listener, description }, config.webhooks, {
          secretBox: box,
          serviceName: config.serviceName,
        }),
      ),
    );
  }, options);
  return {
    id,
    secret,
    remove: () => withDatabase(({ database }) => remove(database, appId, id), options),
  };
}

async function remove(database: Database, appId: string, id: string): Promise<void> {
  try {
    await database.transaction().execute((tx) => deleteWebhook(tx, cliActor(), appId, id));
  } catch (error) {
    // Somebody may have deleted it in the meantime.
    if (!(error instanceof ServiceError && error.code === 'not_found')) throw error;
  }
}

/** `baseUrl` is the service's address. */
export async function registerByKey(
  baseUrl: string,
  apiKey: string,
  { url, events }: Listener,
): Promise<Registration> {
  return withHints(async () => {
    const { webhooks } = createClient({ baseUrl, apiKey, timeoutMs });
    const { data } = await webhooks.list({ limit: webhooksMax });
    for (const abandoned of await findAbandoned(data, url)) await webhooks.delete(abandoned.id);
    const { id, secret } = await webhooks.create({ url, description, ...(events && { events }) });
    return { id, secret, remove: () => withHints(() => removeByKey(webhooks, id)) };
  });
}

async function removeByKey(
  webhooks: ReturnType<typeof createClient>['webhooks'],
  id: string,
): Promise<void> {
  try {
    await webhooks.delete(id, { retries: 1 });
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'not_found')) throw error;
  }
}

/** Finds webhooks of receivers that were killed: at this address, or at another local address where nothing listens. */
async function findAbandoned(webhooks: Webhook[], url: string): Promise<Webhook[]> {
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

/** If the service refuses local addresses, the error says which settings allow them. */
async function withHints<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (refusesUrl(error))
      throw new StartError(
        `the service may not send to this machine; set WEBHOOK_ALLOWED_NETWORKS=127.0.0.0/8 and WEBHOOK_ALLOW_HTTP=true for the service and for this command (${(error as Error).message})`,
        { cause: error },
      );
    if (error instanceof ApiError)
      throw new StartError(`the service refused the request: ${error.message} (${error.code})`, {
        cause: error,
      });
    if (error instanceof OrgdirError)
      throw new StartError(`the service does not respond: ${error.message}`, { cause: error });
    throw error;
  }
}

function refusesUrl(error: unknown): boolean {
  if (!(error instanceof ServiceError || error instanceof ApiError)) return false;
  const issues = (error.details['issues'] ?? []) as Issue[];
  return issues.some(({ path }) => path === 'body.url');
}
