/** Suspends and restores accounts, apps, webhooks and keys, for the console and the command line. Owners get a mail. */
import { randomUUID } from 'node:crypto';
import type { Actor } from '../../access/actor.ts';
import { addNotices } from '../../access/notices.ts';
import {
  lockSuspendable,
  restore,
  suspend,
  type Suspendable,
  type SuspensionSubject,
} from '../../access/suspensions.ts';
import { quoteName } from '../../contract/texts.ts';
import { sql, type Transaction } from '../../database/database.ts';
import { lockAccount } from '../../sign-in/list-accounts.ts';
import { restoreWebhooks, suspendWebhooks } from '../../webhooks/management/suspend-webhooks.ts';

type Change = {
  subject: SuspensionSubject;
  changed: boolean;
  /** Pending deliveries that were cancelled. */
  cancelled?: number;
  /** The webhooks that are active again, and since when they have missed events. */
  active?: { webhookId: string; since: Date }[];
};
/** `mailed`: to whom mails go, if the service sends any. */
export type ChangedSuspension = Omit<Change, 'subject'> & { id: string; mailed: string[] };

export type SuspensionRequest = {
  kind: Suspendable;
  id: string;
  /** Null: it is restored. */
  reason: string | null;
  /** Whether the worker replays what was missed, once it is restored. */
  withReplay?: boolean;
};
export type SuspensionContext = { serviceName: string; publicUrl: string };

/** Throws `not_found`, `validation_failed`. */
export async function changeSuspension(
  tx: Transaction,
  actor: Actor,
  request: SuspensionRequest,
  context: SuspensionContext,
): Promise<ChangedSuspension> {
  const { subject, ...done } = await change(tx, actor, request);
  const { id } = subject;
  if (!done.changed) return { id, ...done, mailed: [] };
  const mailed = await addNotices(tx, {
    recipients: ownersOf(subject),
    topic: sql`${`suspension ${randomUUID()}`}::text`,
    kind: 'message',
    // A foreign key would lock the app after a key.
    appId: null,
    details: { ...renderMail(subject, request, done, context), ownersOf: subject.appId },
  });
  return { id, ...done, mailed };
}

/** Whether deliveries stop with it. */
export function isStopped(kind: Suspendable): kind is 'app' | 'webhook' {
  return kind === 'app' || kind === 'webhook';
}

async function change(
  tx: Transaction,
  actor: Actor,
  { kind, id, reason, withReplay = false }: SuspensionRequest,
): Promise<Change> {
  if (isStopped(kind))
    return reason === null
      ? restoreWebhooks(tx, actor, { kind, id }, withReplay)
      : suspendWebhooks(tx, actor, { kind, id }, reason);
  const subject = await lockSubject(tx, kind, id);
  const changed =
    reason === null ? await restore(tx, actor, subject) : await suspend(tx, actor, subject, reason);
  return { subject, changed };
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

/** Nobody owns a platform key. */
function ownersOf({ kind, appId, details }: SuspensionSubject) {
  return kind === 'account'
    ? sql`select ${String(details['email'])}::text`
    : sql`select email from app_members where app_id = ${appId} and role = 'owner'`;
}

function renderMail(
  { kind, id, appId, details }: SuspensionSubject,
  { reason, withReplay = false }: SuspensionRequest,
  { active = [] }: Omit<Change, 'subject'>,
  { serviceName, publicUrl }: SuspensionContext,
): { subject: string; text: string } {
  const verb = reason === null ? 'restored' : 'suspended';
  const { name } = details;
  const quoted =
    typeof name === 'string'
      ? quoteName(name)
      : JSON.stringify(details['host'] ?? details['email']);
  return {
    subject: `${serviceName}: ${kind} ${verb}`,
    text: [
      `The operator has ${verb} the ${kind} ${quoted} (${id}).`,
      ...(reason === null ? [] : [`Reason: ${reason.trim()}`]),
      ...active.map(({ webhookId, since }) =>
        withReplay
          ? `The service replays what webhook ${webhookId} missed since ${since.toISOString()}.`
          : `To replay: ${publicUrl}/profile/developer/apps/${appId}/webhooks/${webhookId}/deliveries since ${since.toISOString()}`,
      ),
      `If you have questions, contact the operator.\n`,
    ].join('\n\n'),
  };
}
