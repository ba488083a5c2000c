/**
 * Records the events of changed entries (`org.updated`, `org.removed` and their siblings) for webhooks that name them: one
 * event per entry, which shows it as it is now, a second after its first change that no event has shown.
 * `changes.ts` says which entries are due. Those of new entries are recorded with the change itself. Next:
 * `webhooks/queue/fan-out/fan-out.ts`.
 */
import { arrayLiteral } from '../database/array-literal.ts';
import { sql, type Database, type Transaction } from '../database/database.ts';
import { publicUrlOr } from '../database/public-url.ts';
import type { EventName } from '../events/catalogue.ts';
import { recordEvents, type NewEvent } from '../events/record-event.ts';
import { describeError, isolateRefused } from '../events/set-aside.ts';
import type { Logger } from '../runtime/log.ts';
import { announceDelayMs, foldLock, namedEvents } from './fold-entry-changes.ts';
import type { SlugTable } from './lock-directory.ts';
import { publicEntries, publicById } from './public-entries.ts';
import type { Row, Written } from './rows.ts';
import type { ManagedKind } from '../access/managers.ts';

/** Entries per transaction. The next ones wait until fan-out has taken these, so that no event waits behind more. */
export const partMax = 256;
/** Leaves time for fan-out, which looks as often for what was recorded. */
const partPauseMs = 100;

type Entry = { kind: SlugTable; id: string };
/** The last event of a part, as the outbox has it. */
type Recorded = { xid: string; id: string };

const names: Record<SlugTable, { updated: EventName; removed: EventName }> = {
  orgs: { updated: 'org.updated', removed: 'org.removed' },
  alliances: { updated: 'alliance.updated', removed: 'alliance.removed' },
  blueprints: { updated: 'blueprint.updated', removed: 'blueprint.removed' },
};

/** Returns a function that announces the next part, and returns the milliseconds until more may be due. */
export function createChangesAnnouncer(publicUrl: string, log: Logger) {
  let last: Recorded | null = null;
  return async (database: Database): Promise<number> => {
    const entries = await listAwaited(database, last);
    // One further in the future is from before the database's clock was put back.
    const due = entries.filter(({ inMs }) => inMs <= 0 || inMs > announceDelayMs);
    await isolateRefused<Entry>(
      due,
      async (part) => {
        const run = (tx: Transaction) => announce(tx, part, publicUrl);
        last = (await database.transaction().execute(run)) ?? last;
      },
      async ({ kind, id }, error) => {
        await sql`update entry_changes set announce_at = null where kind = ${kind} and id = ${id}`.execute(
          database,
        );
        log.error({ kind, id, ...describeError(error) }, 'change.not_announced');
      },
    );
    return due.length > 0 ? partPauseMs : (entries[0]?.inMs ?? Infinity);
  };
}

/** The entries of which an event is due first; none while the events of the part before wait for fan-out. */
async function listAwaited(database: Database, last: Recorded | null) {
  const { rows } = await sql<Entry & { inMs: number }>`
    with clock as materialized (select queue_now() as now)
    select kind, id, (extract(epoch from announce_at - now) * 1000)::float8 as "inMs"
    from entry_changes cross join clock
    where announce_at is not null
      and not exists (
        select from outbox where xid = ${last?.xid ?? null}::xid8 and id = ${last?.id ?? null}::uuid
        -- Fan-out leaves out one that somebody has locked, and so does this.
        for share skip locked
      )
    order by announce_at limit ${partMax}
  `.execute(database);
  return rows;
}

/** Returns the last event; null if another process is at work, or nobody wants any. */
async function announce(
  tx: Transaction,
  entries: Entry[],
  publicUrl: string,
): Promise<Recorded | null> {
  if (!(await lockTurn(tx))) return null;
  const { rows } = await sql<Entry & { named: EventName[] }>`
    select kind, id, array(${namedEvents}) as named
    from unnest(
      ${arrayLiteral(entries.map(({ kind }) => kind))}::text[], ${arrayLiteral(entries.map(({ id }) => id))}::uuid[]
    ) as due(kind, id) join entry_changes using (kind, id)
    where announce_at is not null
  `.execute(tx);
  const events: NewEvent[] = [];
  for (const kind of Object.keys(names) as SlugTable[]) {
    const ids = rows.filter((row) => row.kind === kind).map(({ id }) => id);
    if (ids.length > 0) events.push(...(await showEntries(tx, kind, ids, publicUrl)));
  }
  const recorded = await recordEvents(
    tx,
    events.filter(({ name }) => rows[0]?.named.includes(name)),
  );
  const id = recorded.at(-1);
  return id === undefined ? null : { xid: await currentXid(tx), id };
}

/** All that changes `entry_changes` happens in turns. Taken before anything is read, so that nothing read is out of date. */
async function lockTurn(tx: Transaction): Promise<boolean> {
  const { rows } = await sql<{ mine: boolean }>`
    select pg_try_advisory_xact_lock(${sql.lit(foldLock)}) as mine
  `.execute(tx);
  return rows[0]?.mine === true;
}

type ShownRow = { public_url: string; changed_id: string } & (Row | { id: null });

/** Marks the entries as announced, and returns an event of each. */
async function showEntries(
  tx: Transaction,
  kind: SlugTable,
  ids: string[],
  publicUrl: string,
): Promise<NewEvent[]> {
  const { scope, always, columns, joins, toEntry } = publicEntries[kind];
  const { rows } = await sql<ShownRow>`
    with announced as (
      -- The revision of what this statement sees: a note of up to this revision needs no other event.
      update entry_changes c set announce_at = null, announced = r.revision
      from revisions r where r.scope = ${scope} and c.kind = ${kind} and c.id = any(${arrayLiteral(ids)}::uuid[])
      returning c.id
    )
    select ${publicUrlOr(publicUrl)} as public_url, announced.id as changed_id, found.*
    from announced
    left join lateral (
      select ${columns} from ${sql.table(kind)} t ${joins} where t.id = announced.id and ${always}
    ) found on true
  `.execute(tx);
  const { updated, removed } = names[kind];
  return rows.map((row) => {
    const id = row.changed_id;
    // Without the subject, which would cancel the event: it may not be visible when this is sent.
    if (row.id === null) return { name: removed, data: { id } };
    return {
      name: updated,
      data: toEntry(row, row.public_url),
      orgId: kind === 'orgs' ? id : null,
      allianceId: kind === 'alliances' ? id : null,
    };
  });
}

async function currentXid(tx: Transaction): Promise<string> {
  const { rows } = await sql<{ xid: string }>`select pg_current_xact_id()::text as xid`.execute(tx);
  return rows[0]?.xid as string;
}

/** Publishes events for organisations and alliances that are public for the first time, in the same transaction. */
export async function announceNew(
  tx: Transaction,
  kind: ManagedKind,
  written: Written[],
  publicUrl: string,
): Promise<void> {
  const ids = written.filter(({ announced }) => announced).map(({ id }) => id);
  if (ids.length === 0) return;
  const entries = await publicById<ManagedKind>(tx, kind, ids, publicUrl);
  await recordEvents(
    tx,
    entries.map((data) =>
      kind === 'orgs'
        ? { name: 'org.created', data, orgId: data.id }
        : { name: 'alliance.created', data, allianceId: data.id },
    ),
  );
}

/** No entry that the rest of the transaction changes gets an event of its change. Triggers read the setting. */
export async function announceNothing(tx: Transaction): Promise<void> {
  await sql`select set_config('orgdir.silent', 'on', true)`.execute(tx);
}
