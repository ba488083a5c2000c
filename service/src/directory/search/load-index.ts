/** Reads the index of a kind from the database, and what has changed since. */
import { sql, type Database, type LeftJoined } from '../../database/database.ts';
import { isSameTimeline, type Scope } from '../../database/revisions.ts';
import { foldText } from '../fold-text.ts';
import type { SlugTable } from '../lock-directory.ts';
import type { EntryNumbers, IndexedEntry, WrittenEntry } from './entries.ts';
import { createIndexBuilder, type Changes, type SearchIndex } from './search-index.ts';
import { nameField, otherField, tagField, type FieldText } from './segment.ts';
import type { EntryValues, ValueNames } from './values.ts';

/** An index, the revision that it belongs to, and when that was read, in seconds by the database's clock. */
export type IndexState = { index: SearchIndex; revision: number; readAt: number };

type Sql = ReturnType<typeof sql>;
type Source = {
  scope: Scope;
  listed: Sql;
  hasDescription: Sql;
  /** Arrays of texts over `t`. */
  choices: Record<string, Sql>;
  texts: Record<string, Sql>;
};

const given = (column: Sql) => sql`array_remove(array[${column}], null)`;

export const sources: Record<SlugTable, Source> = {
  orgs: {
    scope: 'directory',
    listed: sql`t.listed`,
    hasDescription: sql`t.description is not null`,
    choices: {
      activity: given(sql`t.primary_activity, t.secondary_activity`),
      language: given(sql`t.language`),
      recruiting: given(sql`t.recruiting::text`),
      alliance: sql`array(select a.slug from alliances a where a.id = t.alliance_id)`,
      verified: given(sql`t.verified::text`),
      status: given(sql`t.status`),
      listed: given(sql`t.listed::text`),
    },
    texts: { tag: sql`t.tag`, location: sql`t.location`, slug: sql`t.slug` },
  },
  alliances: {
    scope: 'directory',
    listed: sql`true`,
    hasDescription: sql`t.description is not null`,
    choices: { recruiting: given(sql`t.recruiting::text`), status: given(sql`t.status`) },
    texts: { tag: sql`t.tag`, slug: sql`t.slug` },
  },
  // A search does not look in the descriptions of blueprints.
  blueprints: {
    scope: 'blueprints',
    listed: sql`true`,
    hasDescription: sql`null`,
    choices: {
      category: given(sql`t.category`),
      active: given(sql`t.active::text`),
      ingredient: sql`t.ingredient_terms`,
    },
    texts: { slug: sql`t.slug` },
  },
};

/** In this order in `valuesOf`. */
const times = { createdAt: sql`t.created_at`, updatedAt: sql`t.updated_at` };

function namesOf({ choices, texts }: Source): ValueNames {
  return { choices: Object.keys(choices), texts: Object.keys(texts), numbers: Object.keys(times) };
}

/** Arrays of arrays must be rectangular, so choices are JSON. */
function valuesOf({ choices, texts }: Source): Sql {
  return sql`
    t.id, json_build_array(${sql.join(Object.values(choices))}) as choices,
    array[${sql.join(Object.values(texts))}] as texts,
    array[${sql.join(Object.values(times).map((time) => sql`extract(epoch from ${time})::float8`))}] as numbers
  `;
}

/** Each batch keeps the thread for some milliseconds. */
const batchSize = 1_000;

type Row = EntryValues & {
  ordinal: number;
  members: number;
  listed: boolean;
  search_text: string;
  has_description: boolean | null;
};

/** Reads all entries, from one snapshot. */
export async function loadIndex(
  database: Database,
  kind: SlugTable,
  signal: AbortSignal,
): Promise<IndexState> {
  const source = sources[kind];
  const { scope, hasDescription } = source;
  const snapshot = database.transaction().setIsolationLevel('repeatable read');
  return snapshot.setAccessMode('read only').execute(async (tx) => {
    const { rows: revisions } = await sql<{ revision: number; read_at: number }>`
      select revision, extract(epoch from now())::float8 as read_at from revisions where scope = ${scope}
    `.execute(tx);
    const [read] = revisions;
    if (!read) throw new Error(`the revision of ${scope} is missing`);
    await sql`
      declare entries no scroll cursor for
      select s.ordinal, s.members, s.listed, s.search_text, ${hasDescription} as has_description, ${valuesOf(source)}
      from ${sql.table(`searchable_${kind}`)} s join ${sql.table(kind)} t on t.id = s.id
      order by s.name_sort, s.id
    `.execute(tx);
    const builder = createIndexBuilder(namesOf(source));
    for (;;) {
      const { rows } =
        await sql<Row>`fetch forward ${sql.raw(String(batchSize))} from entries`.execute(tx);
      signal.throwIfAborted();
      if (rows.length === 0) break;
      for (const row of rows) builder.add(toEntry(row));
    }
    return { index: builder.build(), revision: read.revision, readAt: read.read_at };
  });
}

/** More changes than these are slower to read than everything. */
const changesMax = 2_000;
/** Some minutes less than `move_revision` keeps them. */
const changesKeptSeconds = 10 * 60;

type ChangedRow = { revision: number; read_at: number } & LeftJoined<{
  ordinal: number;
  is_written: boolean;
}> &
  LeftJoined<Omit<Row, 'ordinal'> & { found: number }> & { after: number | null };

/**
 * Applies what was written since `state`. If it returns something else, the index must be loaded again: after too many
 * changes it is only old, but `useless` if others may be missing from the changes.
 */
export async function readChanges(
  database: Database,
  kind: SlugTable,
  state: IndexState,
): Promise<IndexState | 'too many' | 'useless'> {
  const source = sources[kind];
  const { scope, listed, hasDescription } = source;
  const table = sql.table(kind);
  const entries = sql.table(`searchable_${kind}`);
  const nameBefore = (which: Sql) => sql`
    (select t.id, t.name_sort from ${table} t
     where ${which} and c.is_written and (t.name_sort, t.id) < (s.name_sort, s.id)
     order by t.name_sort desc, t.id desc limit 1)
  `;
  const { rows } = await sql<ChangedRow>`
    with pending as (
      select written, adjusted from search_changes where kind = ${kind} and revision > ${state.revision}
    ),
    changed as (
      select ordinal, bool_or(is_written) as is_written
      from (
        select unnest(written) as ordinal, true as is_written from pending
        union all
        select unnest(adjusted), false from pending
      ) as each_change
      group by ordinal limit ${changesMax + 1}
    )
    select r.revision, extract(epoch from now())::float8 as read_at, c.ordinal, c.is_written,
      s.ordinal as found, s.members, s.listed, s.search_text, before.ordinal as after,
      case when s.ordinal is not null then ${hasDescription} end as has_description, own.*
    from revisions r
    left join changed c on true
    left join ${entries} s on s.ordinal = c.ordinal
    left join ${table} t on t.id = s.id
    left join lateral (select ${valuesOf(source)} where s.ordinal is not null) own on true
    left join lateral (
      select p.ordinal
      -- Each half reads its own index.
      from (${nameBefore(listed)} union all ${nameBefore(sql`not ${listed}`)}) as t join ${entries} p on p.id = t.id
      order by t.name_sort desc, t.id desc limit 1
    ) before on true
    where r.scope = ${scope}
    order by s.name_sort, s.id
  `.execute(database);
  const [first] = rows;
  if (!first) throw new Error(`the revision of ${scope} is missing`);
  const isKnown =
    first.revision >= state.revision &&
    isSameTimeline(first.revision, state.revision) &&
    first.read_at - state.readAt < changesKeptSeconds;
  if (!isKnown) return 'useless';
  if (rows.length > changesMax) return 'too many';
  if (!state.index.apply(toChanges(rows))) return 'useless';
  return { index: state.index, revision: first.revision, readAt: first.read_at };
}

function toChanges(rows: ChangedRow[]): Changes {
  const changes: Changes = { written: [], adjusted: [], removed: [] };
  for (const row of rows) {
    if (row.ordinal === null) continue;
    if (row.found === null) changes.removed.push(row.ordinal);
    else if (row.is_written) changes.written.push(toWritten(row));
    else changes.adjusted.push(toNumbers(row));
  }
  return changes;
}

function toWritten(row: Row & { after: number | null }): WrittenEntry {
  return { ...toEntry(row), after: row.after };
}

function toEntry(row: Row): IndexedEntry {
  return { ...toNumbers(row), texts: toTexts(row.search_text.split('\n'), row.has_description) };
}

function toNumbers({ ordinal, members, listed, id, choices, texts, numbers }: Row): EntryNumbers {
  const folded = texts.map((text) => text && foldText(text));
  return { ordinal, members, listed, values: { id, choices, texts: folded, numbers } };
}

/** The lines of `search_text`: the name; then, except for blueprints, the tag and the slug; then what else is searched. */
function toTexts(lines: string[], hasDescription: boolean | null): FieldText[] {
  return lines.map((text, index) => {
    if (index === 0) return { field: nameField, text };
    const isOther = hasDescription === null || (hasDescription && index === lines.length - 1);
    return { field: isOther ? otherField : tagField, text };
  });
}
