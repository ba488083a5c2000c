/** Registers a local receiver as a webhook for as long as it runs: in the database, or with a running service over its API. */
import { ApiError, createClient, OrgdirError } from '@orgdir/client';
import { readApp } from '../access/apps.ts';
import type { Database } from '../database/database.ts';
import { ServiceError, StartError, type Issue } from '../errors.ts';
import { readSecretKeys } from '../read-secret-keys.ts';
import { createSecretBox } from '../webhooks/sending/secrets.ts';
import { createWebhook, deleteWebhook, listWebhooks } from '../webhooks/management/webhooks.ts';
import { cliActor } from './cli-actor.ts';
import { withDatabase } from './with-database.ts';

export type Registration = {
  id: string;
  secret: string;
  /** Ends it, and what is pending for it. */
  remove(): Promise<void>;
};

type Listener = { url: string; events: string[] | undefined };
type Webhook = { id: string; url: string; description: string | null };

/** By this a receiver that was killed is known again. */
const description = 'orgdir listen';
/** An app has no more. */
const webhooksMax = 20;
/** On the way out nobody wants to wait for a service that is gone. */
const answerWithinMs = 5_000;

/** As the app's owner would, but without a key. */
export async function registerInDatabase(appId: string, listener: Listener): Promise<Registration> {
  // A signal is the caller's: what was registered is to be ended first.
  const options = { endsOnSignal: false };
  const { id, secret } = await withDatabase(async ({ database, embedded }, config) => {
    await readApp(database, appId);
    const box = createSecretBox(await readSecretKeys(config, embedded));
    const { webhooks } = await listWebhooks(database, appId, { page: 1, limit: webhooksMax });
    for (const left of await leftBehind(webhooks, listener.url))
      await remove(database, appId, left.id);
    return explained(() =>
      database
        .transaction()
        .execute((tx) =>
          createWebhook(tx, cliActor(), appId, { ...listener, description }, config.webhooks, box),
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
    // Its owner may have deleted it meanwhile.
    if (!(error instanceof ServiceError && error.code === 'not_found')) throw error;
  }
}

/** `baseUrl` is the service's address. */
export async function registerByKey(
  baseUrl: string,
  apiKey: string,
  { url, events }: Listener,
): Promise<Registration> {
  return explained(async () => {
    const { webhooks } = createClient({ baseUrl, apiKey, timeoutMs: answerWithinMs });
    const { data } = await webhooks.list({ limit: webhooksMax });
    for (const left of await leftBehind(data, url)) await webhooks.delete(left.id);
    const { id, secret } = await webhooks.create({ url, description, ...(events && { events }) });
    return { id, secret, remove: () => explained(() => removeByKey(webhooks, id)) };
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

/** Registrations of receivers that were killed: at this address, or at another on this machine where nobody listens. */
async function leftBehind(webhooks: Webhook[], url: string): Promise<Webhook[]> {
  const ours = webhooks.filter((each) => each.description === description && listens(each));
  const listening = await Promise.all(
    ours.map(async (each) => each.url !== url && (await isAnswered(each.url))),
  );
  return ours.filter((_, index) => !listening[index]);
}

/** Nothing else is asked whether it answers, whoever wrote the description. */
function listens({ url }: Webhook): boolean {
  return /^http:\/\/127\.0\.0\.1:\d+\/$/.test(url);
}

async function isAnswered(url: string): Promise<boolean> {
  try {
    await fetch(url, { method: 'HEAD', signal: AbortSignal.timeout(answerWithinMs) });
    return true;
  } catch (error) {
    return (error as Error).name === 'TimeoutError';
  }
}

/** Says how the service lets itself be sent to this machine, where that is what is wrong. */
async function explained<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (refusesUrl(error))
      throw new StartError(
        `this machine's own addresses are refused: start the service with WEBHOOK_ALLOWED_NETWORKS=127.0.0.0/8 and WEBHOOK_ALLOW_HTTP=true, and so this command (${(error as Error).message})`,
        { cause: error },
      );
    if (error instanceof ApiError)
      throw new StartError(`the service refused: ${error.message} (${error.code})`, {
        cause: error,
      });
    if (error instanceof OrgdirError)
      throw new StartError(`the service does not answer: ${error.message}`, { cause: error });
    throw error;
  }
}

function refusesUrl(error: unknown): boolean {
  if (!(error instanceof ServiceError || error instanceof ApiError)) return false;
  const issues = (error.details['issues'] ?? []) as Issue[];
  return issues.some(({ path }) => path === 'body.url');
}
