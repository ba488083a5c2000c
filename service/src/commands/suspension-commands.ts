/** `suspend` and `restore` of accounts, apps, webhooks and keys. */
import type { Command } from 'commander';
import { requireReason, type Suspendable } from '../access/suspensions.ts';
import { reasonCharsMax, suspensionEffects } from '../contract/console.ts';
import type { Database } from '../database/database.ts';
import { readPublicUrl } from '../database/public-url.ts';
import {
  changeSuspension,
  isStopped,
  type SuspensionRequest,
} from '../http/operator/suspensions.ts';
import type { Config } from '../settings/config.ts';
import { cliActor } from './with-database.ts';
import { addCommand, checkedBy, requiredOption } from './parse-option.ts';

/** Adds the two commands to the one for this kind. */
export function addSuspension(parent: Command, kind: Suspendable): void {
  const isAccount = kind === 'account';
  const id = isAccount ? 'ada@example.org' : '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f';
  const argument = [
    `<${isAccount ? 'account' : 'id'}>`,
    `id ${isAccount ? 'or email address ' : ''}of the ${kind}`,
  ] as const;
  addCommand<{ reason: string }>(parent, {
    name: 'suspend',
    argument,
    description: `Suspend the ${kind}, in every process within a second. ${suspensionEffects[kind]} Owners see the reason; a repeated suspension changes it.`,
    options: [
      requiredOption(
        '--reason <text>',
        `why, in up to ${reasonCharsMax} characters`,
        checkedBy(requireReason),
      ),
    ],
    example: `${id} --reason "Sends unwanted messages."`,
    act: ({ database, config, given, flags: { reason } }) =>
      change({ database, config }, { kind, id: given, reason }),
  });
  addCommand<{ replay?: boolean }>(parent, {
    name: 'restore',
    argument,
    description: `End the suspension of the ${kind}.`,
    options: isStopped(kind) ? [['--replay', 'have the worker replay what was missed']] : [],
    example: id,
    act: ({ database, config, given, flags: { replay = false } }) =>
      change({ database, config }, { kind, id: given, reason: null, withReplay: replay }),
  });
}

/** Changes, and returns what the command prints. */
async function change(
  { database, config }: { database: Database; config: Config },
  request: SuspensionRequest,
): Promise<[unknown, string[]]> {
  const { serviceName } = config;
  const publicUrl = await readPublicUrl(database, config.publicUrl);
  const done = await database
    .transaction()
    .execute((tx) => changeSuspension(tx, cliActor(), request, { serviceName, publicUrl }));
  const { id, changed, cancelled, active = [], mailed } = done;
  if (!changed) return [done, ['Nothing to change.']];
  const lines = [
    `${request.kind} ${id} is ${request.reason === null ? 'restored' : 'suspended'}.${cancelled === undefined ? '' : ` ${cancelled} pending deliveries are cancelled.`}`,
    ...active.map(({ webhookId, since }) =>
      request.withReplay
        ? `The service replays what webhook ${webhookId} missed since ${since.toISOString()}.`
        : `To replay: npx orgdir replay --webhook ${webhookId} --since ${since.toISOString()}`,
    ),
    mailed.length > 0
      ? `The service mails ${mailed.join(', ')}, if it sends mail.`
      : 'Nobody gets a mail.',
  ];
  return [done, lines];
}
