/** Runs `orgdir listen`, with the code of the client's command that replaces it. Only `--app` is the service's own. */
import { CommandError } from '@orgdir/client/command/command-error';
import { receive } from '@orgdir/client/command/receive';
import { registerByKey } from '@orgdir/client/command/register-by-key';
import { readLines, readSecrets } from '@orgdir/client/command/secrets';
import type { Command } from 'commander';
import { invalid, StartError } from '../errors.ts';
import { registerInDatabase } from './register-listener.ts';

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
