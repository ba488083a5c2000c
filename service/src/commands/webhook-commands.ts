import type { Command } from 'commander';
import { readApp } from '../access/apps.ts';
import {
  listWebhookStates,
  webhookStatesMax,
  type WebhookState,
} from '../webhooks/webhook-states.ts';
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
