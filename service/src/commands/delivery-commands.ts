/** `deliveries`, `replay` and `explain`: what became of events at webhooks. */
import { Option, type Command } from 'commander';
import { escapeControls } from '@orgdir/client/command/escape-controls';
import { hoursAgo, listedHours } from '../contract/periods.ts';
import { catalogue, subjectEvents } from '../events/catalogue.ts';
import {
  listAllDeliveries,
  requireAppOf,
  type ListedDelivery,
} from '../webhooks/management/list-all-deliveries.ts';
import { listedMax } from './event-commands.ts';
import {
  addCommand,
  exampleId,
  limitOption,
  parseId,
  parsePastOption,
  parseTimeOption,
  requiredOption,
} from './parse-option.ts';
import { table, cliActor } from './with-database.ts';
import { onSetAside } from '../events/set-aside.ts';
import { countReplay, replay, runReplay, type ReplayCounts } from '../webhooks/replay/replay.ts';
import type { Explanation } from '../contract/explanation.ts';
import { explainEvent, explainTime } from '../webhooks/management/explain.ts';

type ListFlags = {
  webhook?: string;
  status?: ListedDelivery['status'] | 'undelivered';
  event?: string;
  since?: Date;
  limit: number;
};

export function addDeliveryCommands(program: Command): void {
  const deliveries = program.command('deliveries').description('Show deliveries to webhooks.');
  addCommand<ListFlags>(deliveries, {
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

type ReplayFlags = { webhook: string; since: Date; until?: Date; dryRun?: boolean };

export function addReplayCommand(program: Command): void {
  addCommand<ReplayFlags>(program, {
    name: 'replay',
    description:
      'Queue what a webhook missed: failed deliveries, those that a deactivation cancelled, and events without a delivery.',
    options: [
      requiredOption('--webhook <id>', 'the webhook', parseId),
      requiredOption(
        '--since <time>',
        'events missed since this time, such as 2027-01-31T12:00:00Z',
        parsePastOption,
      ),
      ['--until <time>', 'events missed before this time (default: now)', parseTimeOption],
      ['--dry-run', 'only count'],
    ],
    example: [
      `--webhook ${exampleId} --since 2027-01-31 --dry-run`,
      `--webhook ${exampleId} --since 2027-01-31T12:00:00Z`,
    ],
    check({ flags: { since, until }, command }) {
      if (until !== undefined && until < since)
        command.error('error: --until must not be before --since');
    },
    async act({ database, flags: { webhook: webhookId, since, until, dryRun = false } }) {
      const stop = onSetAside(({ eventId, reason }) =>
        console.error(
          escapeControls(
            `Event ${eventId} was set aside and is not sent: ${reason} (orgdir events list --rejected)`,
          ),
        ),
      );
      const webhook = { webhookId, appId: await requireAppOf(database, webhookId) };
      const range = { since, until };
      const counts = await runReplay(database, webhook.appId, (tx, aside) =>
        dryRun ? countReplay(tx, webhook, range) : replay(tx, cliActor(), webhook, range, aside),
      ).finally(stop);
      return [counts, describeReplay(counts, dryRun)];
    },
  });
}

function describeReplay(
  { failed, cancelled, missed, more }: ReplayCounts,
  dryRun: boolean,
): string[] {
  return [
    `${dryRun ? 'Would queue' : 'Queued'} ${failed} failed deliveries, ${cancelled} cancelled ones and ${missed} missed events.`,
    ...(more ? ['There is more: replay again after these have been sent.'] : []),
  ];
}

type ExplainFlags = {
  webhook: string;
  eventId?: string;
  event?: string;
  subject?: string;
  at?: Date;
};

export function addExplainCommand(program: Command): void {
  addCommand<ExplainFlags>(program, {
    name: 'explain',
    description: 'Explain why a webhook did or did not get an event.',
    options: [
      requiredOption('--webhook <id>', 'the webhook', parseId),
      new Option('--event-id <id>', 'the event')
        .argParser(parseId)
        .conflicts(['event', 'subject', 'at']),
      new Option('--event <name>', 'without --event-id: the name of the event').choices(
        subjectEvents,
      ),
      ['--subject <slug>', 'without --event-id: its organisation or alliance', String],
      [
        '--at <time>',
        'without --event-id: when it happened, such as 2027-01-31T12:00:00Z',
        parsePastOption,
      ],
    ],
    example: [
      `--webhook ${exampleId} --event-id 0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e80`,
      `--webhook ${exampleId} --event event.created --subject acme --at 2027-01-31T12:00:00Z`,
    ],
    async act({ database, flags, command }) {
      const { webhook: webhookId, eventId, event, subject: slug, at } = flags;
      const of = async () => ({ webhookId, appId: await requireAppOf(database, webhookId) });
      const explain = async () => {
        if (eventId !== undefined) return explainEvent(database, await of(), eventId);
        if (event !== undefined && slug !== undefined && at !== undefined)
          return explainTime(database, await of(), { event, slug, at });
        return command.error('error: --event-id, or --event, --subject and --at, are required');
      };
      const found = await explain();
      return [found, describeExplanation(found)];
    },
  });
}

function describeExplanation({
  result,
  message,
  event,
  at,
  checks,
  unknown,
  delivery,
  nearby,
}: Explanation): string[] {
  const known = Object.entries(checks).filter(([, met]) => met !== null);
  return [
    `${result}: ${message}`,
    ...(event ? [`event ${event.id} ${event.name} ${event.createdAt}`] : []),
    ...(known.length > 0
      ? [`at ${at}: ${known.map(([name, met]) => `${met ? '' : 'not '}${name}`).join(', ')}`]
      : []),
    ...(unknown.length > 0 ? [`unknown: ${unknown.join(', ')}`] : []),
    ...(delivery ? [`delivery ${delivery.id} ${delivery.status}`] : []),
    ...nearby.map((one) => `nearby ${one.id} ${one.name} ${one.createdAt}`),
  ];
}
