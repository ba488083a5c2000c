import type { Command } from 'commander';
import { readApp } from '../access/apps.ts';
import { readSecretKeys } from '../read-secret-keys.ts';
import { resealSecrets } from '../webhooks/management/reseal-secrets.ts';
import { createSecretBox } from '../webhooks/sending/secrets.ts';
import {
  listWebhookStates,
  webhookStatesMax,
  type WebhookState,
} from '../webhooks/management/webhook-states.ts';
import { print, table, withDatabase } from './with-database.ts';

export function addWebhookCommands(program: Command): void {
  const webhooks = program
    .command('webhooks')
    .description('Webhooks: where events are delivered to, and how that goes.');
  webhooks
    .command('list')
    .description(
      `Webhooks and how they do, oldest first, at most ${webhookStatesMax}. Of an address only the host is shown.`,
    )
    .option('--app <id>', 'only those of this app, however many there are')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
STATE is active, failing (deliveries were given up since the last success) or deactivated, with the reason.
GIVEN UP counts the deliveries in a row that failed at every attempt.

Examples:
  orgdir webhooks list
  orgdir webhooks list --app 0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f --json`,
    )
    .action(async ({ app, json }: { app?: string; json?: boolean }) => {
      const found = await withDatabase(async ({ database }) => {
        if (app !== undefined) await readApp(database, app);
        return listWebhookStates(database, app ?? null);
      });
      print(
        json,
        found,
        table(['ID', 'APP', 'HOST', 'STATE', 'GIVEN UP', 'LATEST EVENT'], found.map(row)),
      );
    });
  webhooks
    .command('reseal')
    .description(
      'Encrypt all webhook secrets with the first key of SECRET_KEY. After that the other keys can be taken out of it.',
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
A secret that no key of SECRET_KEY opens is left as it is, its webhook named, and the command ends with 1.

Example:
  SECRET_KEY=NEW,OLD orgdir webhooks reseal`,
    )
    .action(async ({ json }: { json?: boolean }) => {
      const done = await withDatabase(async ({ database, embedded }, config) =>
        resealSecrets(database, createSecretBox(await readSecretKeys(config, embedded))),
      );
      const { resealed, unchanged, unreadable } = done;
      print(json, done, [
        `Encrypted anew: ${resealed}; already with the first key: ${unchanged}.`,
        ...unreadable.map((id) => `No key opens the secret of the webhook ${id}.`),
      ]);
      if (unreadable.length > 0) process.exitCode = 1;
    });
}

function row(webhook: WebhookState): string[] {
  const { latestEvent } = webhook;
  return [
    webhook.id,
    webhook.appId,
    webhook.host,
    stateOf(webhook),
    String(webhook.exhaustedInARow),
    latestEvent
      ? `${latestEvent.kind} ${latestEvent.at.toISOString()}${latestEvent.mailedAt ? ', mailed' : ''}`
      : '-',
  ];
}

function stateOf({ state, reason, since }: WebhookState): string {
  return state === 'deactivated' ? `deactivated (${reason}) since ${since?.toISOString()}` : state;
}
