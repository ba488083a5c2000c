import { Option, type Command } from 'commander';
import { readApp } from '../access/apps.ts';
import { webhookHealths, type WebhookHealth } from '../contract/webhook.ts';
import { readSecretKeys } from '../database/read-secret-keys.ts';
import { resealSecrets } from '../database/sealed-secrets.ts';
import { resealAuthenticators } from '../sign-in/authenticators.ts';
import { createSecretBox } from '../runtime/secret-box.ts';
import { webhookSecrets } from '../webhooks/management/sealed-columns.ts';
import {
  listWebhookStates,
  webhookStatesMax,
  type WebhookState,
} from '../webhooks/management/webhook-states.ts';
import { describeHealth, type DeactivatedReason } from '../contract/webhook-in-words.ts';
import { addCommand, exampleId } from './parse-option.ts';
import { addSuspension } from './suspension-commands.ts';
import { table } from './with-database.ts';

export function addWebhookCommands(program: Command): void {
  const webhooks = program.command('webhooks').description('Show and maintain webhooks.');
  addCommand<{ app?: string; health?: WebhookHealth }>(webhooks, {
    name: 'list',
    description: `List webhooks with their health, oldest first, at most ${webhookStatesMax}. Shows only the host of each address.`,
    options: [
      ['--app <id>', 'all webhooks of this app, and no others', String],
      new Option('--health <health>', 'only webhooks of this health').choices(webhookHealths),
    ],
    note: `HEALTH is suspended, deactivated, failing (deliveries failed after all attempts, and none has succeeded since) or retrying (the
last attempt failed), with the reason; new (no attempt yet); or healthy. Tests and probes do not count.
GIVEN UP counts consecutive deliveries that failed after all attempts.`,
    example: ['--health failing', `--app ${exampleId} --json`],
    async act({ database, flags: { app, health } }) {
      if (app !== undefined) await readApp(database, app);
      const wanted = { appId: app ?? null, health: health ?? null };
      const { webhooks: found } = await listWebhookStates(database, wanted);
      const header = ['ID', 'APP', 'HOST', 'HEALTH', 'GIVEN UP', 'LATEST EVENT'];
      return [found, table(header, found.map(row))];
    },
  });
  addSuspension(webhooks, 'webhook');
  addReseal(webhooks);
}

function addReseal(webhooks: Command): void {
  addCommand(webhooks, {
    name: 'reseal',
    description:
      'Encrypt all secrets of webhooks and authenticator apps with the first key of SECRET_KEY. You can then remove the other keys.',
    note: 'If no key of SECRET_KEY decrypts a secret, it stays as it is, and the command lists its webhook or account and exits with 1.',
    exampleEnvironment: 'SECRET_KEY=NEW,OLD',
    async act({ database, config }) {
      const secretBox = createSecretBox(await readSecretKeys(config, database));
      const ofWebhooks = await resealSecrets(database, secretBox, webhookSecrets);
      const accounts = await resealAuthenticators(database, secretBox);
      const done = {
        resealed: ofWebhooks.resealed + accounts.resealed,
        unchanged: ofWebhooks.unchanged + accounts.unchanged,
        unreadable: ofWebhooks.unreadable,
        unreadableAccounts: accounts.unreadable,
      };
      if (done.unreadable.length + done.unreadableAccounts.length > 0) process.exitCode = 1;
      const lines = [
        `Encrypted ${done.resealed} secrets; ${done.unchanged} already used the first key.`,
        ...done.unreadable.map(
          (id) => `No key decrypts the secret, URL or headers of webhook ${id}.`,
        ),
        ...done.unreadableAccounts.map(
          (email) => `No key decrypts the authenticator app of ${email}.`,
        ),
      ];
      return [done, lines];
    },
  });
}

function row(webhook: WebhookState): string[] {
  const { latestEvent } = webhook;
  return [
    webhook.id,
    webhook.appId,
    webhook.host,
    healthOf(webhook),
    String(webhook.exhaustedInARow),
    latestEvent
      ? `${latestEvent.kind} ${latestEvent.at.toISOString()}${latestEvent.mailedAt ? ', mailed' : ''}`
      : '-',
  ];
}

function healthOf({ health, reason, since, exhaustedInARow }: WebhookState): string {
  const why = describeHealth({
    health,
    // Of a suspension it is the operator's own text.
    reason: health === 'deactivated' ? (reason as DeactivatedReason) : null,
    suspendedReason: reason,
    exhaustedInARow,
  });
  return `${health}${why === null ? '' : ` (${why})`}${since === null ? '' : ` since ${since.toISOString()}`}`;
}
