/** Reads the index of a kind from the database, and what has changed since. */
import { sql, type Database, type LeftJoined } from '../../database/database.ts';
import { isSameTimeline, type Scope } from '../../database/revisions.ts';
import { collectGarbage } from '../../runtime/heap.ts';
import { foldText } from '../fold-text.ts';
import type { SlugTable } from '../lock-directory.ts';
import type { IndexedEntry } from './entries.ts';
import { createIndexBuilder, type Changes, type SearchIndex } from './search-index.ts';
import { nameField, otherField, tagField, type FieldText } from './segment.ts';
import { finishInTurns } from './steps.ts';
import { valueSeparator, type ValueNames } from './values.ts';

/** An index, the revision that it belongs to, and when that was read, in seconds by the database's clock. */
export type IndexState = { index: SearchIndex; revision: number; readAt: number };

type Sql = ReturnType<typeof sql>;
type Source = {
  scope: Scope;
  listed: Sql;
  hasDescription: Sql;
  /** Texts over `t`. */
  choices: Record<string, Sql>;
  texts: Record<string, Sql>;
};

/** A control character. */
const partSeparator = '\u0001';

const given = (columns: Sql) => sql`concat_ws(${valueSeparator}::text, ${columns})`;
/** For texts in which people may have written control characters. */
const free = (text: Sql) => sql`replace(${text}, ${partSeparator}::text, '')`;

export const sources: Record<SlugTable, Source> = {
  orgs: {
    scope: 'directory',
    listed: sql`t.listed`,
    hasDescription: sql`t.description is not null`,
    choices: {
      activity: free(given(sql`t.primary_activity, t.secondary_activity`)),
      language: given(sql`t.language`),
      recruiting: given(sql`t.recruiting::text`),
      alliance: sql`(select a.slug from alliances a where a.id = t.alliance_id)`,
      verified: given(sql`t.verified::text`),
      status: given(sql`t.status`),
      listed: given(sql`t.listed::text`),
    },
    texts: { tag: free(sql`t.tag`), location: free(sql`t.location`), slug: sql`t.slug` },
  },
  alliances: {
    scope: 'directory',
    listed: sql`true`,
    hasDescription: sql`t.description is not null`,
    choices: { recruiting: given(sql`t.recruiting::text`), status: given(sql`t.status`) },
    texts: { tag: free(sql`t.tag`), slug: sql`t.slug` },
  },
  // A search does not look in the descriptions of blueprints.
  blueprints: {
    scope: 'blueprints',
    listed: sql`true`,
    hasDescription: sql`null`,
    choices: {
      category: given(sql`t.category`),
      active: given(sql`t.active::text`),
      ingredient: free(sql`array_to_string(t.ingredient_terms, ${valueSeparator}::text)`),
    },
    texts: { slug: sql`t.slug` },
  },
};

/** In this order in `partsOf`. */
const times = { createdAt: sql`t.created_at`, updatedAt: sql`t.updated_at` };

function namesOf({ choices, texts }: Source): ValueNames {
  return { choices: Object.keys(choices), texts: Object.keys(texts), numbers: Object.keys(times) };
}

/** All that an index has of an entry in one text, which takes a fraction of the time of a column for each. */
function partsOf({ choices, texts, hasDescription }: Source): Sql {
  const parts = [
    sql`s.ordinal`,
    sql`s.members`,
    sql`s.listed`,
    hasDescription,
    sql`t.id`,
    ...Object.values(times).map((time) => sql`date_part('epoch', ${time})`),
    ...Object.values(choices),
    ...Object.values(texts),
    sql`s.search_text`,
  ];
  return sql`concat(${sql.join(parts, sql`, ${partSeparator}::text, `)})`;
}

/** Each batch keeps the thread for some milliseconds. */
const batchSize = 500;

const manyEntries = 2_000;

/** Reads all entries, from one snapshot. */
export async function loadIndex(
  database: Database,
  kind: SlugTable,
  signal: AbortSignal,
): Promise<IndexState> {
  const source = sources[kind];
  const snapshot = database.transaction().setIsolationLevel('repeatable read');
  return snapshot.setAccessMode('read only').execute(async (tx) => {
    const entries = sql.table(`searchable_${kind}`);
    const { rows: revisions } = await sql<{ revision: number; read_at: number; size: number }>`
      select revision, extract(epoch from now())::float8 as read_at, (select count(*) from ${entries}) as size
      from revisions where scope = ${source.scope}
    `.execute(tx);
    const [at] = revisions;
    if (!at) throw new Error(`the revision of ${source.scope} is missing`);
    await sql`
      declare entries no scroll cursor for
      select ${partsOf(source)} as parts
      from ${entries} s join ${sql.table(kind)} t on t.id = s.id
      order by s.name_sort, s.id
    `.execute(tx);
    const builder = createIndexBuilder(namesOf(source), at.size);
    const read = readerOf(source);
    for (;;) {
      const { rows } = await sql<{ parts: string }>`
        fetch forward ${sql.raw(String(batchSize))} from entries
      `.execute(tx);
      signal.throwIfAborted();
      if (rows.length === 0) break;
      for (const { parts } of rows) builder.add(read(parts));
    }
    const index = await finishInTurns(builder.build(), signal);
    // The garbage of a few entries is not worth a pause.
    if (at.size >= manyEntries) void collectGarbage();
    return { index, revision: at.revision, readAt: at.read_at };
  });
}

/** More changes than these are slower to read than everything. */
export const changesMax = 2_000;
/** Some minutes less than `directory/fold-entry-changes.ts` keeps them. */
const changesKeptSeconds = 10 * 60;

type ChangedRow = { revision: number; read_at: number } & LeftJoined<{
  ordinal: number;
  is_written: boolean;
}> & { parts: string | null; after: number | null };

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
  const { scope, listed } = source;
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
      case when s.ordinal is not null then ${partsOf(source)} end as parts, before.ordinal as after
    from revisions r
    left join changed c on true
    left join ${entries} s on s.ordinal = c.ordinal
    left join ${table} t on t.id = s.id
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
  if (!state.index.apply(toChanges(rows, source))) return 'useless';
  return { index: state.index, revision: first.revision, readAt: first.read_at };
}

function toChanges(rows: ChangedRow[], source: Source): Changes {
  const changes: Changes = { written: [], adjusted: [], removed: [] };
  const read = readerOf(source);
  for (const { ordinal, parts, is_written, after } of rows) {
    if (ordinal === null) continue;
    if (parts === null) changes.removed.push(ordinal);
    else if (is_written) changes.written.push({ ...read(parts), after });
    else changes.adjusted.push(read(parts));
  }
  return changes;
}

/** Reads what `partsOf` selects. */
function readerOf({ choices, texts }: Source): (parts: string) => IndexedEntry {
  const firstChoice = 5 + Object.keys(times).length;
  const firstText = firstChoice + Object.keys(choices).length;
  const last = firstText + Object.keys(texts).length;
  return (parts) => {
    const all = parts.split(partSeparator);
    const [ordinal, members, listed, hasDescription = '', id = ''] = all;
    const values = {
      id,
      numbers: all.slice(5, firstChoice).map(Number),
      choices: all.slice(firstChoice, firstText),
      texts: all.slice(firstText, last).map((text) => (text === '' ? null : foldText(text))),
    };
    // More parts are one text into which somebody wrote the separator.
    const text = all.length > last + 1 ? all.slice(last).join(' ') : (all[last] ?? '');
    return {
      ordinal: Number(ordinal),
      members: Number(members),
      listed: listed === 't',
      values,
      texts: toTexts(text.split('\n'), hasDescription),
    };
  };
}

/** The lines of `search_text`: the name; then, except for blueprints, the tag and the slug; then what else is searched. */
function toTexts(lines: string[], hasDescription: string): FieldText[] {
  return lines.map((text, index) => {
    if (index === 0) return { field: nameField, text };
    const isOther = hasDescription === '' || (hasDescription === 't' && index === lines.length - 1);
    return { field: isOther ? otherField : tagField, text };
  });
}
