/** Runs `orgdir listen`, with the code of the client's command that replaces it. Only `--app` is the service's own. */
import { CommandError } from '@orgdir/client/command/command-error';
import { receive } from '@orgdir/client/command/receive';
import {
  registerByKey,
  description,
  findAbandoned,
  notAllowedHere,
  type Listener,
  type Registration,
} from '@orgdir/client/command/register-by-key';
import { readLines, readSecrets } from '@orgdir/client/command/secrets';
import type { Command } from 'commander';
import { readApp } from '../access/apps.ts';
import { quotasMax } from '../contract/quotas.ts';
import type { Database } from '../database/database.ts';
import { readSecretKeys } from '../database/read-secret-keys.ts';
import { invalid, ServiceError, StartError, type Issue } from '../errors.ts';
import { createSecretBox } from '../runtime/secret-box.ts';
import { createWebhook, deleteWebhook, listWebhooks } from '../webhooks/management/webhooks.ts';
import { cliActor, withDatabase } from './with-database.ts';

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

/** On standard error, so that standard output stays as scripts know it. */
const deprecation =
  'orgdir listen is deprecated and will be removed in 2.0.0. Use the command of the client instead, which the service serves at /client: npx --yes https://directory.example.org/client/orgdir-client-X.Y.Z.tgz listen';

export async function listen(flags: ListenFlags, command: Command): Promise<void> {
  checkFlags(flags, command);
  if (!flags.json) console.error(deprecation);
  const { port, status, app, service, event, json = false } = flags;
  try {
    const secrets = await readSecrets(flags.secret ?? []);
    const key = flags.key === '-' ? (await readLines(1))[0] : flags.key;
    const listener = (url: string) => ({ url, events: event });
    const register =
      app !== undefined
        ? (url: string) => registerInDatabase(app, listener(url))
        : key !== undefined
          ? (url: string) => registerByKey(service, key, listener(url))
          : null;
    await receive({ port, status, json, secrets, register });
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw error.code === 'validation_failed'
      ? invalid({ path: '--secret', message: error.message.replace('--secret ', '') })
      : new StartError(error.message, { cause: error });
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

/** Registers the receiver as a webhook as a member of the app would, but without a key. */
async function registerInDatabase(appId: string, listener: Listener): Promise<Registration> {
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
