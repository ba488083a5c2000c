/** Registers a local receiver as a webhook while it runs, in the database of the service. */
import {
  description,
  findAbandoned,
  notAllowedHere,
  type Listener,
  type Registration,
} from '@orgdir/client/command/register-by-key';
import { readApp } from '../access/apps.ts';
import { quotasMax } from '../contract/quotas.ts';
import type { Database } from '../database/database.ts';
import { ServiceError, StartError, type Issue } from '../errors.ts';
import { readSecretKeys } from '../database/read-secret-keys.ts';
import { createSecretBox } from '../runtime/secret-box.ts';
import { createWebhook, deleteWebhook, listWebhooks } from '../webhooks/management/webhooks.ts';
import { cliActor } from './cli-actor.ts';
import { withDatabase } from './with-database.ts';

/** Does the same as a member of the app would, but without a key. */
export async function registerInDatabase(appId: string, listener: Listener): Promise<Registration> {
  // `listen` handles signals, because it must delete the webhook first.
  const options = { endsOnSignal: false };
  const { id, secret } = await withDatabase(async (opened, config) => {
    const { database } = opened;
    await readApp(database, appId);
    const box = createSecretBox(await readSecretKeys(config, opened.database));
    const { webhooks } = await listWebhooks(database, appId, {
      page: 1,
      limit: quotasMax.webhooks,
    });
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

/** If the service refuses local addresses, the error says which settings allow them. */
async function withHints<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const issues = error instanceof ServiceError ? (error.details['issues'] as Issue[]) : [];
    if (!issues?.some(({ path }) => path === 'body.url')) throw error;
    throw new StartError(notAllowedHere((error as Error).message), { cause: error });
  }
}
