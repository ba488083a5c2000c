/**
 * Moves the notes of changed entries (`search_changes`, written by triggers) to `entry_changes`, which has each entry once,
 * so that it stays as small as the directory. Reads look into both, so nobody waits for this. `changes.ts` reads them, and
 * `announce.ts` makes events of them.
 */
import { changesKeptDays } from '../contract/periods.ts';
import { arrayLiteral } from '../database/array-literal.ts';
import { sql, type Database } from '../database/database.ts';
import { deleteInBatches } from '../database/delete-in-batches.ts';
import { optInEvents } from '../events/catalogue.ts';

/** Notes that a call looks at. */
const notesMax = 200;
/** Entries per call, about a second. A note of a statement over the whole directory is moved in parts. */
export const foldedMax = 50_000;
/** At least. A process that has read no notes for so long loads its search index again (`search/load-index.ts`). */
const notesKeptMinutes = 15;
/** Deleted per call, of each kind. */
const deletedMax = 10_000;
/** One process at a time: two would lock the same entries in different orders. */
export const foldLock = 70420025;
/** How long the changes of an entry are collected for one event. */
export const announceDelayMs = 1_000;

/** The events of entries that active webhooks name. */
export const namedEvents = sql`
  select distinct name from webhooks cross join lateral unnest(events) as name
  where active and name = any(${arrayLiteral(optInEvents)}::text[])
`;

type Folded = {
  /** Whether more may wait. */
  more: boolean;
  /** Whether an event of any entry may be due, now or later. */
  isAwaited: boolean;
};

export async function foldEntryChanges(database: Database): Promise<Folded> {
  const max = sql.lit(foldedMax);
  const { rows } = await sql<{ notes: number; entries: number; isAwaited: boolean }>`
    -- prepared: fold_entry_changes
    with turn as materialized (select pg_try_advisory_xact_lock(${sql.lit(foldLock)}) as mine),
    oldest as materialized (
      select *, sum(cardinality(entries)) over (order by revision, place) - cardinality(entries) as before
      from (
        select ctid as place, kind, revision, at, silent, entries from search_changes
        where (select mine from turn) and entries is not null and revision is not null
        order by revision, place limit ${sql.lit(notesMax)}
      ) as notes
    ),
    taken as materialized (
      select place, kind, revision, at, silent, entries[:${max} - before] as entries, entries[${max} - before + 1:] as rest
      from oldest where before < ${max}
    ),
    emptied as (
      delete from search_changes where ctid = any(array(select place from taken where rest = '{}'))
    ),
    shortened as (
      update search_changes s set entries = t.rest from taken t
      where s.ctid = any(array(select place from taken where rest <> '{}')) and t.place = s.ctid
    ),
    -- The kinds of which a webhook wants events.
    named as materialized (select distinct split_part(name, '.', 1) || 's' as kind from (${namedEvents}) as events),
    folded as (
      insert into entry_changes as c (kind, id, revision, at, announce_at, announced)
      select kind, id, max(revision), max(at),
        case when kind in (select kind from named) then
          min(at) filter (where not silent) + ${sql.lit(announceDelayMs)} * interval '1 millisecond'
        end,
        -- What a new entry's first event will show.
        coalesce(max(revision) filter (where not silent), 0)
      from taken cross join unnest(entries) as id group by kind, id
      on conflict (kind, id) do update set revision = excluded.revision, at = excluded.at,
        -- An event that was made since may show this change already.
        announce_at = coalesce(c.announce_at, case when excluded.announced > c.announced then excluded.announce_at end)
      where excluded.revision > c.revision
    )
    select count(*) as notes, coalesce(sum(cardinality(entries)), 0)::int8 as entries,
      -- The latter is what was there before this statement.
      count(*) > 0 or exists (select from entry_changes where announce_at is not null) as "isAwaited"
    from oldest
  `.execute(database);
  const [row] = rows;
  if (!row) throw new Error('the notes were not counted');
  const { notes, entries, isAwaited } = row;
  return { more: notes === notesMax || entries > foldedMax, isAwaited };
}

/**
 * Deletes changes that are older than cursors are accepted for, and notes that no search index needs. Returns whether there may
 * be more changes.
 */
export async function dropOldEntryChanges(database: Database): Promise<boolean> {
  await deleteInBatches(database, {
    table: 'search_changes',
    key: 'ctid',
    condition: sql`entries is null and at < (select now()) - ${notesKeptMinutes} * interval '1 minute'`,
  });
  const { rows } = await sql<{ dropped: number }>`
    with turn as materialized (select pg_try_advisory_xact_lock(${sql.lit(foldLock)}) as mine),
    old as (
      delete from entry_changes where ctid = any(array(
        select oldest.ctid from entry_changes_dropped d cross join lateral (
          select ctid, at from entry_changes c where (select mine from turn) and c.kind = d.kind
          order by c.kind, c.revision limit ${sql.lit(deletedMax)}
        ) oldest where at < queue_now() - ${sql.lit(changesKeptDays)} * interval '1 day'
      ))
      returning kind, revision
    ),
    marked as (
      update entry_changes_dropped d set revision = greatest(d.revision, old.revision)
      from (select kind, max(revision) as revision from old group by kind) old where old.kind = d.kind
    )
    select count(*) as dropped from old
  `.execute(database);
  return (rows[0]?.dropped ?? 0) >= deletedMax;
}
