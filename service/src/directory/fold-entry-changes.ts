/**
 * Moves the notes of changed entries (`search_changes`, written by triggers) to `entry_changes`, which has each entry once,
 * so that it stays as small as the directory. Reads look into both, so nobody waits for this. `changes.ts` reads them.
 */
import { changesKeptDays } from '../contract/periods.ts';
import { sql, type Database } from '../database/database.ts';

/** Notes per call; an import makes one for some hundred entries. The next call takes the rest. */
const notesMax = 200;
/** Deleted per call, of each kind. */
const deletedMax = 10_000;
/** One process at a time: two would lock the same entries in different orders. */
const foldLock = 70420025;

/** Returns whether more notes may wait. */
export async function foldEntryChanges(database: Database): Promise<boolean> {
  const { rows } = await sql<{ taken: number }>`
    with turn as materialized (select pg_try_advisory_xact_lock(${sql.lit(foldLock)}) as mine),
    taken as (
      delete from search_changes where ctid = any(array(
        select ctid from search_changes
        where (select mine from turn) and entries is not null and revision is not null
        order by revision limit ${sql.lit(notesMax)}
      ))
      returning kind, revision, at, entries
    ),
    folded as (
      insert into entry_changes as c (kind, id, revision, at)
      select kind, id, max(revision), max(at) from taken cross join unnest(entries) as id group by kind, id
      on conflict (kind, id) do update set revision = excluded.revision, at = excluded.at where excluded.revision > c.revision
    )
    select count(*) as taken from taken
  `.execute(database);
  return rows[0]?.taken === notesMax;
}

/** Deletes changes that are older than cursors are accepted for. Returns whether there may be more. */
export async function dropOldEntryChanges(database: Database): Promise<boolean> {
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
