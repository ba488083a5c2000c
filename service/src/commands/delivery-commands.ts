import { Option, type Command } from 'commander';
import { hoursAgo, listedHours } from '../contract/periods.ts';
import { catalogue } from '../events/catalogue.ts';
import {
  listAllDeliveries,
  requireAppOf,
  type ListedDelivery,
} from '../webhooks/management/list-all-deliveries.ts';
import { listedMax } from './event-commands.ts';
import { parseId, parsePastOption, parseInteger } from './parse-option.ts';
import { print, table, withDatabase } from './with-database.ts';

type Flags = {
  webhook?: string;
  status?: ListedDelivery['status'] | 'undelivered';
  event?: string;
  since?: Date;
  limit: number;
  json?: boolean;
};

export function addDeliveryCommands(program: Command): void {
  const deliveries = program.command('deliveries').description('Show deliveries to webhooks.');
  deliveries
    .command('list')
    .description('List deliveries with their last attempt, newest first.')
    .option('--webhook <id>', 'only deliveries to this webhook', parseId)
    .addOption(
      new Option('--status <status>', 'only deliveries with this status').choices([
        'pending',
        'succeeded',
        'failed',
        'cancelled',
        'undelivered',
      ]),
    )
    .addOption(
      new Option('--event <name>', 'only deliveries of this event').choices(Object.keys(catalogue)),
    )
    .option(
      '--since <time>',
      `only deliveries queued since this time, such as 2027-01-31T12:00:00Z (default: ${listedHours} hours ago)`,
      parsePastOption,
    )
    .option(
      '--limit <count>',
      `maximum number of deliveries, 1 to ${listedMax}`,
      parseInteger(1, listedMax),
      20,
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
--status undelivered: those that failed or were cancelled, without tests and probes.
LAST is the status or error of the last attempt, and its duration in milliseconds.
NEXT OR END is when the next attempt is due, or when the delivery ended; - during an attempt.

Examples:
  orgdir deliveries list --status failed
  orgdir deliveries list --webhook 0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f --since 2027-01-31 --json`,
    )
    .action(list);
}

async function list({ webhook, status, event, since, limit, json }: Flags): Promise<void> {
  const from = (since ?? hoursAgo(listedHours)).toISOString();
  const filter = { status, event, since: from, limit };
  const found = await withDatabase(async ({ database }) => {
    const listed = await listAllDeliveries(database, webhook ?? null, filter);
    // Deliveries of a deleted webhook are kept and can be listed.
    if (webhook !== undefined && listed.length === 0) await requireAppOf(database, webhook);
    return listed;
  });
  const header = ['ID', 'WEBHOOK', 'EVENT', 'STATUS', 'ATTEMPTS', 'LAST', 'NEXT OR END'];
  print(json, found, table(header, found.map(toRow)));
}

function toRow(delivery: ListedDelivery): string[] {
  const { lastAttempt } = delivery;
  return [
    delivery.id,
    delivery.webhookId,
    delivery.event,
    delivery.status,
    String(delivery.attemptCount),
    lastAttempt
      ? `${lastAttempt.statusCode ?? lastAttempt.error} ${lastAttempt.durationMs} ms`
      : '-',
    delivery.completedAt ?? delivery.nextAttemptAt ?? '-',
  ];
}
