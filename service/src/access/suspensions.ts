/**
 * An operator suspends accounts, apps, webhooks and keys, with a reason that their owners see, and restores them. A row
 * says so; whoever admits a caller reads it. `webhooks/management/suspend-webhooks.ts` also stops the deliveries.
 */
import { reasonCharsMax } from '../contract/console.ts';
import {
  sql,
  type Executor,
  type LeftJoined,
  type Transaction,
  asUuid,
} from '../database/database.ts';
import { invalid, ServiceError } from '../errors.ts';
import type { Actor } from './actor.ts';
import { recordAudit } from './audit-log.ts';

export type Suspension = { suspendedAt: Date; suspendedReason: string };
export type Suspendable = 'account' | 'app' | 'webhook' | 'key';
/** `appId`: whose audit log has the entries. `details`: of the entries, in addition to the reason. */
export type SuspensionSubject = {
  kind: Suspendable;
  id: string;
  appId: string | null;
  details: Record<string, unknown>;
};

const columns = {
  account: sql.ref('account_id'),
  app: sql.ref('app_id'),
  webhook: sql.ref('webhook_id'),
  key: sql.ref('key_id'),
};

/**
 * Suspends, or changes the reason. Returns false if it is suspended with this reason already. The caller has locked the
 * subject. Throws `validation_failed`.
 */
export async function suspend(
  tx: Transaction,
  actor: Actor,
  { kind, id, appId, details }: SuspensionSubject,
  given: string,
): Promise<boolean> {
  const reason = requireReason(given);
  const { rows } = await sql`
    insert into suspensions as s (${columns[kind]}, reason) values (${id}, ${reason})
    on conflict (${columns[kind]}) do update set reason = excluded.reason where s.reason <> excluded.reason
    returning 1
  `.execute(tx);
  if (rows.length === 0) return false;
  const entry = { subject: { kind, id }, appId, details: { ...details, reason } };
  await recordAudit(tx, actor, { action: `${kind}.suspended`, ...entry });
  return true;
}

/** Returns false if it is not suspended. The caller has locked the subject. */
export async function restore(
  tx: Transaction,
  actor: Actor,
  { kind, id, appId, details }: SuspensionSubject,
): Promise<boolean> {
  const { rows } = await sql`
    delete from suspensions where ${columns[kind]} = ${id} returning 1
  `.execute(tx);
  if (rows.length === 0) return false;
  const action = `${kind}.restored` as const;
  await recordAudit(tx, actor, { action, subject: { kind, id }, appId, details });
  return true;
}

/** Finds an app or a key, and locks it until the end of the transaction. Throws `not_found`. */
export async function lockSuspendable(
  tx: Transaction,
  kind: 'app' | 'key',
  id: string,
): Promise<SuspensionSubject> {
  const { rows } = await sql<{ id: string; appId: string | null; name: string }>`
    select id, ${kind === 'app' ? sql`id` : sql`app_id`} as "appId", name
    from ${sql.table(kind === 'app' ? 'apps' : 'api_keys')} where id = ${asUuid(id)} for update
  `.execute(tx);
  const [row] = rows;
  if (!row) throw new ServiceError('not_found', `There is no ${kind} with the id ${id}.`);
  return { kind, id: row.id, appId: row.appId, details: { name: row.name } };
}

/**
 * The suspension that applies to a row, for a lateral join: its own, or else that of its app. Both are expressions;
 * `own` is null for what has none.
 */
export function suspensionOf(kind: Suspendable, own: Expression, appId: Expression = sql`null`) {
  return sql`(
    select suspended_at as "suspendedAt", reason as "suspendedReason", ${columns[kind]} is null as "isOfApp"
    from suspensions where ${columns[kind]} = ${own} or app_id = ${appId}
    order by ${columns[kind]} is null limit 1
  )`;
}
type Expression = ReturnType<typeof sql>;

/** Throws `suspended` if it or its app is suspended. */
export async function requireNotSuspended(
  executor: Executor,
  kind: Suspendable,
  id: string,
  appId: string | null,
): Promise<void> {
  const { rows } = await sql<Suspension & { isOfApp: boolean }>`
    select * from ${suspensionOf(kind, sql`${id}::uuid`, sql`${appId}::uuid`)} s
  `.execute(executor);
  const [suspension] = rows;
  if (suspension) refuseSuspended(suspension.isOfApp ? 'app' : kind, suspension);
}

/** Throws `suspended` if there is a suspension. */
export function refuseSuspended(
  kind: Suspendable,
  suspension: LeftJoined<Suspension> | Suspension | null,
): void {
  if (!suspension || suspension.suspendedAt === null) return;
  const { suspendedAt, suspendedReason: reason } = suspension;
  const message = `The operator has suspended ${named[kind]}: ${reason}`;
  throw new ServiceError('suspended', message, {
    details: { subject: kind, suspendedAt: suspendedAt.toISOString(), reason },
  });
}

const named: Record<Suspendable, string> = {
  account: 'your account',
  app: 'the app',
  webhook: 'the webhook',
  key: 'the API key',
};

/** Throws `validation_failed`. Returns it without spaces around it. */
export function requireReason(text: string): string {
  const reason = text.trim();
  if (reason === '' || reason.length > reasonCharsMax || /[\p{Cc}\p{Bidi_Control}]/u.test(reason))
    throw invalid({
      path: 'reason',
      message: `must have 1 to ${reasonCharsMax} characters on one line`,
    });
  return reason;
}
