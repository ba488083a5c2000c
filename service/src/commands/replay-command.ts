import type { Command } from 'commander';
import { onSetAside } from '../events/set-aside.ts';
import { countReplay, replay, runReplay, type ReplayCounts } from '../webhooks/replay/replay.ts';
import { requireAppOf } from '../webhooks/management/list-all-deliveries.ts';
import { cliActor } from './cli-actor.ts';
import { escapeControls } from './escape-controls.ts';
import { parseId, parsePastOption, parseTimeOption } from './parse-option.ts';
import { print, withDatabase } from './with-database.ts';

type Flags = { webhook: string; since: Date; until?: Date; dryRun?: boolean; json?: boolean };

export function addReplayCommand(program: Command): void {
  const command = program
    .command('replay')
    .description(
      'Queue what a webhook missed: failed deliveries, those that a deactivation cancelled, and events without a delivery.',
    )
    .requiredOption('--webhook <id>', 'the webhook', parseId)
    .requiredOption(
      '--since <time>',
      'events missed since this time, such as 2027-01-31T12:00:00Z',
      parsePastOption,
    )
    .option('--until <time>', 'events missed before this time (default: now)', parseTimeOption)
    .option('--dry-run', 'only count')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Examples:
  orgdir replay --webhook 0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f --since 2027-01-31 --dry-run
  orgdir replay --webhook 0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f --since 2027-01-31T12:00:00Z`,
    )
    .action(async ({ webhook: webhookId, since, until, dryRun, json }: Flags) => {
      if (until !== undefined && until < since)
        command.error('error: --until must not be before --since');
      const stop = onSetAside(({ eventId, reason }) =>
        console.error(
          escapeControls(
            `Event ${eventId} was set aside and is not sent: ${reason} (orgdir events list --rejected)`,
          ),
        ),
      );
      const counts = await withDatabase(async ({ database }) => {
        const webhook = { webhookId, appId: await requireAppOf(database, webhookId) };
        const range = { since, until };
        return runReplay(database, webhook.appId, (tx, aside) =>
          dryRun === true
            ? countReplay(tx, webhook, range)
            : replay(tx, cliActor(), webhook, range, aside),
        );
      }).finally(stop);
      print(json, counts, toLines(counts, dryRun === true));
    });
}

function toLines({ failed, cancelled, missed, more }: ReplayCounts, dryRun: boolean): string[] {
  return [
    `${dryRun ? 'Would queue' : 'Queued'} ${failed} failed deliveries, ${cancelled} cancelled ones and ${missed} missed events.`,
    ...(more ? ['There is more: replay again after these have been sent.'] : []),
  ];
}
