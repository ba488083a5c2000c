/** `suspend` and `restore` of accounts, apps, webhooks and keys. Owners are told by mail. */
import type { Command } from 'commander';
import { readApp } from '../access/apps.ts';
import {
  lockSuspendable,
  reasonCharsMax,
  restore,
  suspend,
  type Suspendable,
  type SuspensionSubject,
} from '../access/suspensions.ts';
import type { Config } from '../settings/config.ts';
import { quoteName } from '../contract/quote-name.ts';
import type { Database, Transaction } from '../database/database.ts';
import { readPublicUrl } from '../database/public-url.ts';
import { lockAccount } from '../sign-in/list-accounts.ts';
import { restoreWebhooks, suspendWebhooks } from '../webhooks/management/suspend-webhooks.ts';
import { addCommand } from './parse-option.ts';
import { cliActor } from './cli-actor.ts';
import { mailNotice } from './mail-notice.ts';

type Change = {
  subject: SuspensionSubject;
  changed: boolean;
  cancelled?: number;
  /** The webhooks that are active again, and since when they have missed events. */
  active?: { webhookId: string; since: Date }[];
};

const effects: Record<Suspendable, string> = {
  account: 'Its sessions are refused. Its apps and their keys keep working.',
  app: 'Its keys are refused, its webhooks receive nothing, and its members can only read. Pending deliveries are cancelled.',
  webhook: 'It receives nothing, and pending deliveries are cancelled.',
  key: 'It is refused.',
};

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
    description: `Suspend the ${kind}, in every process within a second. ${effects[kind]} Owners see the reason; a repeated suspension changes it.`,
    required: ['--reason <text>', `why, in up to ${reasonCharsMax} characters`],
    example: `${id} --reason "Sends unwanted messages."`,
    act: ({ database, config, given, flags: { reason } }) =>
      change({ database, config }, 'suspended', reason, (tx) =>
        suspendOne(tx, kind, given, reason),
      ),
  });
  addCommand<{ replay?: boolean }>(parent, {
    name: 'restore',
    argument,
    description: `End the suspension of the ${kind}.`,
    options: isStopped(kind) ? [['--replay', 'have the worker replay what was missed']] : [],
    example: id,
    act: ({ database, config, given, flags: { replay = false } }) =>
      change({ database, config }, 'restored', null, (tx) => restoreOne(tx, kind, given, replay)),
  });
}

/** Whether deliveries stop with it. */
function isStopped(kind: Suspendable): kind is 'app' | 'webhook' {
  return kind === 'app' || kind === 'webhook';
}

async function suspendOne(
  tx: Transaction,
  kind: Suspendable,
  id: string,
  reason: string,
): Promise<Change> {
  if (isStopped(kind)) return suspendWebhooks(tx, cliActor(), { kind, id }, reason);
  const subject = await lockSubject(tx, kind, id);
  return { subject, changed: await suspend(tx, cliActor(), subject, reason) };
}

async function restoreOne(
  tx: Transaction,
  kind: Suspendable,
  id: string,
  withReplay: boolean,
): Promise<Change> {
  if (isStopped(kind)) return restoreWebhooks(tx, cliActor(), { kind, id }, withReplay);
  const subject = await lockSubject(tx, kind, id);
  return { subject, changed: await restore(tx, cliActor(), subject) };
}

async function lockSubject(
  tx: Transaction,
  kind: 'account' | 'key',
  given: string,
): Promise<SuspensionSubject> {
  if (kind === 'key') return lockSuspendable(tx, kind, given);
  const { id, email } = await lockAccount(tx, given);
  return { kind, id, appId: null, details: { email } };
}

/** Changes, mails the owners, and returns what the command prints. */
async function change(
  { database, config }: { database: Database; config: Config },
  verb: 'suspended' | 'restored',
  reason: string | null,
  act: (tx: Transaction) => Promise<Change>,
): Promise<[unknown, string[]]> {
  const publicUrl = await readPublicUrl(database, config.publicUrl);
  const { subject, owners, ...done } = await database.transaction().execute(async (tx) => {
    const changed = await act(tx);
    return { ...changed, owners: await listOwners(tx, changed.subject) };
  });
  const { kind, id, appId, details } = subject;
  const { changed, cancelled, active = [] } = done;
  if (!changed) return [{ id, ...done, mailed: [] }, ['Nothing to change.']];
  const { name } = details;
  const quoted =
    typeof name === 'string'
      ? quoteName(name)
      : JSON.stringify(details['host'] ?? details['email']);
  const offerReplay = (describe: (webhookId: string, since: string) => string) =>
    active.map((one) => `To replay: ${describe(one.webhookId, one.since.toISOString())}`);
  const mailed = await mailNotice(config, owners, {
    subject: `${config.serviceName}: ${kind} ${verb}`,
    text: [
      `The operator has ${verb} the ${kind} ${quoted} (${id}).`,
      ...(reason === null ? [] : [`Reason: ${reason.trim()}`]),
      ...offerReplay(
        (webhook, since) =>
          `${publicUrl}/profile/developer/apps/${appId}/webhooks/${webhook}/deliveries since ${since}`,
      ),
      `If you have questions, contact the operator.\n`,
    ].join('\n\n'),
  });
  const lines = [
    `${kind} ${id} is ${verb}.${cancelled === undefined ? '' : ` ${cancelled} pending deliveries are cancelled.`}`,
    ...offerReplay((webhook, since) => `npx orgdir replay --webhook ${webhook} --since ${since}`),
    mailed.length > 0 ? `Mailed to ${mailed.join(', ')}.` : 'No mail was sent.',
  ];
  return [{ id, ...done, mailed }, lines];
}

/** Nobody owns a platform key. */
async function listOwners(
  tx: Transaction,
  { kind, appId, details }: SuspensionSubject,
): Promise<string[]> {
  if (kind === 'account') return [String(details['email'])];
  return appId === null ? [] : (await readApp(tx, appId)).owners;
}
