/**
 * Lists which entries of a kind the public sees differently since a position, and which are gone. Positions follow the order
 * of commits, because a transaction gets its revision while it commits, under a lock. Why: docs/decisions/0046-changes.md.
 */
import { sql, type Database, type Executor, type LeftJoined } from '../database/database.ts';
import { invalid } from '../errors.ts';
import type { SealedCursors } from '../events/cursors.ts';
import { newest } from './list-query.ts';
import type { SlugTable } from './lock-directory.ts';
import { publicEntries } from './public-entries.ts';
import type { Row } from './rows.ts';
import { changesKeptDays } from '../contract/periods.ts';
import { arrayLiteral } from '../database/array-literal.ts';
import { deleteInBatches } from '../database/delete-in-batches.ts';
import { optInEvents } from '../events/catalogue.ts';

/** After an entry of a revision. */
export type Position = {
  /** Of the database and its timeline: another one may have other changes under the same revisions. */
  epoch: number;
  revision: number;
  id: string;
};

export type Changes = {
  revision: number;
  changed: object[];
  /** The ids of entries that the public does not see any more. */
  removed: string[];
  next: Position;
  hasMore: boolean;
  /** Whether changes since the position may be unknown. */
  isExpired: boolean;
};

/** After all entries of a revision. */
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Over the revision `r`. The same on all replicas of a database. */
const epoch = sql`
  (select hashtext(concat_ws(' ', c.system_identifier, d.oid, r.revision / 4294967296))
   from pg_control_system() c cross join pg_database d where d.datname = current_database())
`;

const dropped = (kind: SlugTable) =>
  sql`select revision from entry_changes_dropped where kind = ${kind}`;

/** The position of the newest change. */
export async function readPosition(
  executor: Executor,
  kind: SlugTable,
): Promise<{ revision: number; position: Position }> {
  const { scope } = publicEntries[kind];
  const { rows } = await sql<{ revision: number; changed_at: number; epoch: number }>`
    select r.revision, ${epoch} as epoch, greatest(
      (${dropped(kind)}),
      (select max(revision) from entry_changes where kind = ${kind}),
      -- One without entries was emptied, because nobody has seen what it was about: note_entries.
      (select max(revision) from search_changes where kind = ${kind} and entries <> '{}')
    ) as changed_at
    from revisions r where r.scope = ${scope}
  `.execute(executor);
  const [row] = rows;
  if (!row) throw new Error(`the revision of ${scope} is missing`);
  const position = { epoch: row.epoch, revision: row.changed_at, id: lastId };
  return { revision: row.revision, position };
}

type ChangedRow = { revision: number; dropped: number; epoch: number } & LeftJoined<{
  changed_at: number;
  changed_id: string;
}> &
  (Row | { id: null });

/** The oldest changes after the position, each entry once, as it is now. */
export async function listChanges(
  database: Database,
  kind: SlugTable,
  { after, limit, baseUrl }: { after: Position; limit: number; baseUrl: string },
): Promise<Changes> {
  const { scope, always, columns, joins, toEntry } = publicEntries[kind];
  const isAfter = sql`> (${after.revision}::bigint, ${after.id}::uuid)`;
  const { rows } = await sql<ChangedRow>`
    with noted as materialized (
      -- Those that no worker has moved to entry_changes yet.
      select id, max(revision) as revision from search_changes cross join unnest(entries) as id
      where kind = ${kind} and revision >= ${after.revision} and entries is not null group by id
    ),
    page as materialized (
      select id, revision from (
        select id, revision from noted where (revision, id) ${isAfter}
        union all
        (select id, revision from entry_changes c
         where kind = ${kind} and (revision, id) ${isAfter} and not exists (select from noted n where n.id = c.id)
         order by revision, id limit ${limit + 1})
      ) as changed order by revision, id limit ${limit + 1}
    )
    select r.revision, (${dropped(kind)}) as dropped, ${epoch} as epoch, page.revision as changed_at, page.id as changed_id, found.*
    from revisions r
    left join page on true
    left join lateral (
      select ${columns} from ${sql.table(kind)} t ${joins} where t.id = page.id and ${always}
    ) found on true
    where r.scope = ${scope}
    order by page.revision, page.id
  `.execute(database);
  const [first] = rows;
  if (!first) throw new Error(`the revision of ${scope} is missing`);
  const changes = rows.filter((row) => row.changed_id !== null).slice(0, limit);
  const last = changes.at(-1);
  const hasMore = rows.length > limit;
  return {
    revision: first.revision,
    changed: changes.filter(({ id }) => id !== null).map((row) => toEntry(row, baseUrl)),
    removed: changes.filter(({ id }) => id === null).map((row) => row.changed_id),
    // A position that others have too, so that nobody learns from it which changes were not public.
    next: last
      ? {
          ...after,
          revision: last.changed_at,
          id: hasMore ? last.changed_id : lastId,
        }
      : after,
    hasMore,
    isExpired: !isKnown(after, first),
  };
}

function isKnown(
  after: Position,
  now: { dropped: number; epoch: number; revision: number },
): boolean {
  if (after.epoch !== now.epoch || after.revision < now.dropped) return false;
  // It is from after the moment to which a copy of the same database was put back.
  if (after.revision > now.revision) return false;
  return after.revision > now.dropped || after.id === lastId;
}

/** A revision, an epoch and the id without its hyphens. */
const positionBytes = 8 + 4 + 16;

export function encodePosition(
  cursors: SealedCursors,
  kind: SlugTable,
  { revision, epoch: of, id }: Position,
): string {
  const content = Buffer.alloc(positionBytes);
  content.writeBigUInt64BE(BigInt(revision));
  content.writeInt32BE(of, 8);
  content.write(id.replaceAll('-', ''), 12, 'hex');
  return cursors.seal(kind, content);
}

/** Throws `validation_failed`. */
export function decodePosition(cursors: SealedCursors, kind: SlugTable, cursor: string): Position {
  const content = cursors.open(kind, cursor);
  if (content?.length !== positionBytes)
    throw invalid({
      path: 'query.changedSince',
      message: `must be a cursor of this service for ${kind}, or ${newest}`,
    });
  const hex = content.toString('hex', 12);
  return {
    revision: Number(content.readBigUInt64BE()),
    epoch: content.readInt32BE(8),
    id: hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
  };
}

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

/**
 * Moves the notes of changed entries (`search_changes`, written by triggers) to `entry_changes`, which has each entry once,
 * so that it stays as small as the directory. Reads look into both, so nobody waits for this. `announce.ts` makes events of
 * them.
 */
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
