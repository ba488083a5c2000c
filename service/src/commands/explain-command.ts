import { Option, type Command } from 'commander';
import type { Explanation } from '../contract/explanation.ts';
import { subjectEvents } from '../events/catalogue.ts';
import { explainEvent, explainTime } from '../webhooks/management/explain.ts';
import { requireAppOf } from '../webhooks/management/list-all-deliveries.ts';
import { addCommand, exampleId, parseId, parsePastOption, requiredOption } from './parse-option.ts';

type Flags = {
  webhook: string;
  eventId?: string;
  event?: string;
  subject?: string;
  at?: Date;
};

export function addExplainCommand(program: Command): void {
  addCommand<Flags>(program, {
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
      return [found, toLines(found)];
    },
  });
}

function toLines({
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
