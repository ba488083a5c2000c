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
