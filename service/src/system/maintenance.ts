/** Maintenance: whether it is on, since when and until when. Each change is recorded with its event. */
import { sql, type Database } from '../database/database.ts';
import { recordEvent } from '../events/record-event.ts';

export type MaintenanceState = {
  message: string | null;
  since: string;
  expectedEnd: string | null;
};

/** Switches it on, or changes message and end while it is on. The event goes out only when it was off. */
export async function enableMaintenance(
  database: Database,
  announcement: { message: string | null; expectedEnd: Date | null },
): Promise<MaintenanceState> {
  return database.transaction().execute(async (tx) => {
    const { rows } = await sql<Row & { fresh: boolean }>`
      insert into maintenance (message, expected_end)
      values (${announcement.message}, ${announcement.expectedEnd})
      on conflict (singleton) do update set message = excluded.message, expected_end = excluded.expected_end
      returning message, since, expected_end, xmax = 0 as fresh
    `.execute(tx);
    const [row] = rows;
    if (!row) throw new Error('maintenance was not written');
    const state = toState(row);
    if (row.fresh) await recordEvent(tx, { name: 'system.maintenance.enabled', data: state });
    return state;
  });
}

/** Switches it off. Returns false when it was off already; nothing is recorded then. */
export async function disableMaintenance(database: Database): Promise<boolean> {
  return database.transaction().execute(async (tx) => {
    const { rows } = await sql<{ since: Date; ended_at: Date }>`
      delete from maintenance returning since, now()::timestamptz(3) as ended_at
    `.execute(tx);
    const [row] = rows;
    if (!row) return false;
    const data = { since: row.since.toISOString(), endedAt: row.ended_at.toISOString() };
    await recordEvent(tx, { name: 'system.maintenance.disabled', data });
    return true;
  });
}

type Row = { message: string | null; since: Date; expected_end: Date | null };

export function toState(row: Row): MaintenanceState {
  return {
    message: row.message,
    since: row.since.toISOString(),
    expectedEnd: row.expected_end?.toISOString() ?? null,
  };
}
