import { Option, type Command } from 'commander';
import { hoursAgo, listedHours } from '../contract/periods.ts';
import { catalogue } from '../events/catalogue.ts';
import {
  listAllDeliveries,
  requireAppOf,
  type ListedDelivery,
} from '../webhooks/management/list-all-deliveries.ts';
import { listedMax } from './event-commands.ts';
import { addCommand, exampleId, limitOption, parseId, parsePastOption } from './parse-option.ts';
import { table } from './with-database.ts';

type Flags = {
  webhook?: string;
  status?: ListedDelivery['status'] | 'undelivered';
  event?: string;
  since?: Date;
  limit: number;
};

export function addDeliveryCommands(program: Command): void {
  const deliveries = program.command('deliveries').description('Show deliveries to webhooks.');
  addCommand<Flags>(deliveries, {
    name: 'list',
    description: 'List deliveries with their last attempt, newest first.',
    options: [
      ['--webhook <id>', 'only deliveries to this webhook', parseId],
      new Option('--status <status>', 'only deliveries with this status').choices([
        'pending',
        'succeeded',
        'failed',
        'cancelled',
        'undelivered',
      ]),
      new Option('--event <name>', 'only deliveries of this event').choices(Object.keys(catalogue)),
      [
        '--since <time>',
        `only deliveries queued since this time, such as 2027-01-31T12:00:00Z (default: ${listedHours} hours ago)`,
        parsePastOption,
      ],
      limitOption('deliveries', listedMax, 20),
    ],
    note: `--status undelivered: those that failed or were cancelled, without tests and probes.
LAST is the status or error of the last attempt, and its duration in milliseconds.
NEXT OR END is when the next attempt is due, or when the delivery ended; - during an attempt.`,
    example: ['--status failed', `--webhook ${exampleId} --since 2027-01-31 --json`],
    async act({ database, flags: { webhook, since, status, event, limit } }) {
      const from = (since ?? hoursAgo(listedHours)).toISOString();
      const filter = { status, event, since: from, limit };
      const found = await listAllDeliveries(database, webhook ?? null, filter);
      // Deliveries of a deleted webhook are kept and can be listed.
      if (webhook !== undefined && found.length === 0) await requireAppOf(database, webhook);
      const header = ['ID', 'WEBHOOK', 'EVENT', 'STATUS', 'ATTEMPTS', 'LAST', 'NEXT OR END'];
      return [found, table(header, found.map(toRow))];
    },
  });
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
