import type { Command } from 'commander';
import { onSetAside } from '../events/set-aside.ts';
import { countReplay, replay, runReplay, type ReplayCounts } from '../webhooks/replay/replay.ts';
import { requireAppOf } from '../webhooks/management/list-all-deliveries.ts';
import { cliActor } from './cli-actor.ts';
import { escapeControls } from '@orgdir/client/command/escape-controls';
import {
  addCommand,
  exampleId,
  parseId,
  parsePastOption,
  parseTimeOption,
  requiredOption,
} from './parse-option.ts';

type Flags = { webhook: string; since: Date; until?: Date; dryRun?: boolean };

export function addReplayCommand(program: Command): void {
  addCommand<Flags>(program, {
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
      return [counts, toLines(counts, dryRun)];
    },
  });
}

function toLines({ failed, cancelled, missed, more }: ReplayCounts, dryRun: boolean): string[] {
  return [
    `${dryRun ? 'Would queue' : 'Queued'} ${failed} failed deliveries, ${cancelled} cancelled ones and ${missed} missed events.`,
    ...(more ? ['There is more: replay again after these have been sent.'] : []),
  ];
}
