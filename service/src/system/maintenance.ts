/** Maintenance: whether it is on, since when and until when. Each change is recorded with its event. */
import type { Actor } from '../access/actor.ts';
import { statusDays } from '../contract/periods.ts';
import { recordAudit } from '../access/audit-log.ts';
import { withTextTimes, type TextTimes } from '../contract/parse-time.ts';
import {
  sql,
  type Change,
  type Database,
  type Executor,
  type Transaction,
} from '../database/database.ts';
import { invalid } from '../errors.ts';
import { recordEvent } from '../events/record-event.ts';

type MaintenanceRow = { message: string | null; since: Date; expectedEnd: Date | null };
export type MaintenanceState = TextTimes<MaintenanceRow>;

type Announcement = { message: string | null; expectedEnd: Date | null };
/** Gets the state before the change, under the lock. If it throws, the change is undone. */
type Check = (current: MaintenanceState | null) => void;

/** Every refused request contains it. */
export const maintenanceMessageLengthMax = 500;

const pastShownMax = 20;

/** Returns the current maintenance, or null. */
export async function readMaintenance(executor: Executor): Promise<MaintenanceState | null> {
  const { rows } = await sql<MaintenanceRow>`
    select message, since, expected_end as "expectedEnd" from maintenance
  `.execute(executor);
  return rows[0] ? withTextTimes(rows[0]) : null;
}

/** The last maintenance periods that `/status` shows, newest first, without their messages. */
export async function listPastMaintenance(
  executor: Executor,
): Promise<{ since: string; endedAt: string }[]> {
  const { rows } = await sql<{ details: { since: string; endedAt: string } }>`
    select details from audit_log
    where action = 'maintenance.disabled' and at > now() - ${statusDays} * interval '1 day'
    order by at desc limit ${pastShownMax}
  `.execute(executor);
  return rows.map(({ details: { since, endedAt } }) => ({ since, endedAt }));
}

/**
 * Switches maintenance on, or changes its message and end while it is on. Publishes the event only if it was off.
 * Throws `validation_failed`.
 */
export async function enableMaintenance(
  database: Database,
  actor: Actor,
  announcement: Announcement,
  check?: Check,
  change: Change = (work) => database.transaction().execute(work),
): Promise<MaintenanceState> {
  requireAnnouncement(announcement);
  return change(async (tx) => {
    if (check) await checkLocked(tx, check);
    const { message, expectedEnd } = announcement;
    // If two requests come at once, the second waits here and finds it on.
    const { rows } = await sql<MaintenanceRow & { fresh: boolean }>`
      insert into maintenance as m (message, expected_end) values (${message}, ${expectedEnd})
      on conflict (singleton) do update set message = excluded.message, expected_end = excluded.expected_end
      where (m.message, m.expected_end) is distinct from (excluded.message, excluded.expected_end)
      returning message, since, expected_end as "expectedEnd", xmax = 0 as fresh
    `.execute(tx);
    if (!rows[0]) return requireOn(tx);
    const { fresh, ...row } = rows[0];
    const state = withTextTimes(row);
    if (fresh) await recordEvent(tx, { name: 'system.maintenance.enabled', data: state });
    await recordAudit(tx, actor, {
      action: fresh ? 'maintenance.enabled' : 'maintenance.changed',
      subject,
      appId: null,
      details: { message: state.message, expectedEnd: state.expectedEnd },
    });
    return state;
  });
}

/** Switches maintenance off. Returns false, and records nothing, if it was already off. */
export async function disableMaintenance(
  database: Database,
  actor: Actor,
  check?: Check,
  change: Change = (work) => database.transaction().execute(work),
): Promise<boolean> {
  return change(async (tx) => {
    if (check) await checkLocked(tx, check);
    const { rows } = await sql<{ since: Date; ended_at: Date }>`
      delete from maintenance returning since, now()::timestamptz(3) as ended_at
    `.execute(tx);
    const [row] = rows;
    if (!row) return false;
    const data = { since: row.since.toISOString(), endedAt: row.ended_at.toISOString() };
    await recordEvent(tx, { name: 'system.maintenance.disabled', data });
    await recordAudit(tx, actor, {
      action: 'maintenance.disabled',
      subject,
      appId: null,
      details: data,
    });
    return true;
  });
}

/** Locks the whole table, because there is no row to lock while maintenance is off. Readers are not blocked. */
async function checkLocked(tx: Transaction, check: Check): Promise<void> {
  await sql`lock table maintenance in share row exclusive mode`.execute(tx);
  check(await readMaintenance(tx));
}

const subject = { kind: 'maintenance', id: null } as const;

function requireAnnouncement({ message, expectedEnd }: Announcement): void {
  if (message !== null) requireMessage(message);
  if (expectedEnd && Number.isNaN(expectedEnd.getTime()))
    throw invalid({ path: 'expectedEnd', message: 'must be a time' });
}

/** Throws `validation_failed`. */
export function requireMessage(message: string): string {
  if (message === '' || message.length > maintenanceMessageLengthMax)
    throw invalid({
      path: 'message',
      message: `must have 1 to ${maintenanceMessageLengthMax} characters`,
    });
  if (message.includes('\0') || !message.isWellFormed())
    throw invalid({ path: 'message', message: 'must be text, without the character U+0000' });
  return message;
}

async function requireOn(tx: Transaction): Promise<MaintenanceState> {
  const state = await readMaintenance(tx);
  if (!state) throw new Error('maintenance was not written');
  return state;
}
