/** Every field of an organisation, an alliance and a blueprint, one at a time: each way of writing changes it, and nothing else. */
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import type { TObject } from 'typebox';
import {
  allianceFields,
  allianceSearch,
  managedAllianceFields,
} from '../../src/contract/alliance.ts';
import { blueprintFields, blueprintSearch } from '../../src/contract/blueprint.ts';
import type { Fields } from '../../src/contract/field.ts';
import { managedOrgFields, orgFields, orgSearch } from '../../src/contract/organisation.ts';
import { sql } from '../../src/database/database.ts';
import { columnsOf } from '../../src/directory/rows.ts';
import { csvColumns, exportLines, toCsv } from '../../src/directory/export.ts';
import { importLines, importSchemas, type ImportKind } from '../../src/directory/import.ts';
import { readCsv } from '../../src/directory/read-csv.ts';
import { put } from '../support/directory.ts';
import { startInternalApi } from '../support/internal-api.ts';
import { samplesOf } from '../support/sample.ts';
import { startTestService, testPublicUrl } from '../support/service.ts';

const service = await startTestService();
const { call } = await startInternalApi(service);
const { database } = service;

type Entry = Record<string, any>;
type Write = (kind: ImportKind, entry: Entry, change: Entry) => Promise<unknown>;
type Noun = {
  shown: Fields;
  all: Fields;
  search: string[];
  /** The field that says which entry a line is about. */
  identity: string;
  /** The function that compares what the public sees. */
  differs: string;
  /** Columns that are not fields, or store one in another form. */
  others: string[];
};

const computed = ['name_sort', 'search_text'];
const nouns: Record<ImportKind, Noun> = {
  orgs: {
    shown: orgFields,
    all: managedOrgFields,
    search: orgSearch,
    identity: 'slug',
    differs: 'org_differs',
    others: [...computed, 'alliance_id', 'first_listed_at'],
  },
  alliances: {
    shown: allianceFields,
    all: managedAllianceFields,
    search: allianceSearch,
    identity: 'slug',
    differs: 'alliance_differs',
    others: computed,
  },
  blueprints: {
    shown: blueprintFields,
    all: blueprintFields,
    search: blueprintSearch,
    identity: 'key',
    differs: 'blueprint_differs',
    others: [...computed, 'ingredient_terms'],
  },
};
const kinds = Object.keys(nouns) as ImportKind[];
/** Changes that bring others with them. */
const companions: Entry = { active: { retiredAt: null } };
/** Null lets the service choose: it creates a slug from the name and keeps the time of retirement. */
const chosenWhereNull = ['slug', 'retiredAt'];

const inputsOf = (kind: ImportKind) => (importSchemas[kind] as unknown as TObject).properties;
const samplesFor = (kind: ImportKind, number: number): Entry => ({
  ...samplesOf(inputsOf(kind), number),
  ...(kind === 'blueprints' ? { active: number === 2 } : {}),
});
const isNullable = (schema: Entry) => [schema['type']].flat().includes('null');
const pathOf = (kind: ImportKind, entry: Entry) =>
  `/${kind}/${encodeURIComponent(entry[nouns[kind].identity])}`;

const ways: Record<string, Write> = {
  NDJSON: (kind, entry) => put(database, kind, [entry]),
  CSV: (kind, entry) => {
    const columns = csvColumns(importSchemas[kind]);
    const text = `${columns.join(',')}\n${toCsv([entry], columns)}`;
    const lines = readCsv(Readable.from([Buffer.from(text)]), importSchemas[kind]);
    const options = { kind, skipBad: false, emitEvents: false, publicUrl: testPublicUrl };
    return database.transaction().execute((tx) => importLines(tx, lines, options));
  },
  PATCH: async (kind, entry, change) => {
    const { status, text } = await call(pathOf(kind, entry), { method: 'PATCH', json: change });
    assert.equal(status, 200, text);
  },
};

for (const [way, write] of Object.entries(ways))
  for (const kind of kinds.filter((each) => way !== 'CSV' || each !== 'blueprints'))
    test(`${way} changes and clears each field of ${kind}, and moves updatedAt for public ones`, () =>
      tryFields(kind, write));

async function tryFields(kind: ImportKind, write: Write): Promise<void> {
  const { identity } = nouns[kind];
  await empty(kind);
  for (const number of [1, 2])
    // The samples of an organisation name their alliances so.
    await put(database, 'alliances', [
      { ...samplesFor('alliances', number), slug: `alliance-${number}` },
    ]);
  const [base, other] = [samplesFor(kind, 1), samplesFor(kind, 2)];
  for (const [name, schema] of Object.entries(inputsOf(kind))) {
    if (name === identity) continue;
    await tryChange(kind, base, { [name]: other[name], ...companions[name] }, write);
    if (isNullable(schema) && !chosenWhereNull.includes(name))
      await tryChange(kind, base, { [name]: null }, write);
  }
}

async function empty(kind: ImportKind): Promise<void> {
  await sql`delete from ${sql.table(kind)}`.execute(database);
  await sql`delete from former_slugs`.execute(database);
}

async function tryChange(kind: ImportKind, base: Entry, change: Entry, write: Write) {
  const what = JSON.stringify(change);
  const entry = { ...base, ...change };
  await put(database, kind, [base]);
  assert.deepEqual(await exported(kind, base), base);
  await backdate(kind);
  await write(kind, entry, change);
  assert.deepEqual(await exported(kind, entry), entry, what);
  const { updatedAt, alliance, ...read } = (await call(pathOf(kind, entry))).body.data;
  const fields = kind === 'orgs' ? { ...read, alliance: alliance?.slug ?? null } : read;
  for (const name of Object.keys(entry)) assert.deepEqual(fields[name], entry[name], what);
  const isPublic = Object.keys(change).some((name) => name in nouns[kind].shown);
  assert.equal(updatedAt !== longAgo, isPublic, `updatedAt after ${what}`);
}

async function exported(kind: ImportKind, entry: Entry): Promise<Entry | undefined> {
  const { identity } = nouns[kind];
  const found: Entry[] = [];
  await database.transaction().execute(async (tx) => {
    for await (const lines of exportLines(tx, kind)) found.push(...lines);
  });
  return found.find((line) => line[identity] === entry[identity]);
}

const longAgo = '2001-01-01T00:00:00.000Z';

async function backdate(kind: ImportKind): Promise<void> {
  const table = sql.table(kind);
  await sql`alter table ${table} disable trigger touch`.execute(database);
  await sql`update ${table} set updated_at = ${longAgo}`.execute(database);
  await sql`alter table ${table} enable trigger touch`.execute(database);
}

for (const kind of kinds)
  test(`search finds ${kind} by each field that it looks in`, async () => {
    const [base, other] = [samplesFor(kind, 1), samplesFor(kind, 2)];
    for (const name of nouns[kind].search) {
      await empty(kind);
      const { alliance: _, ...entry } = { ...base, [name]: other[name] };
      await put(database, kind, [entry]);
      await service.settled();
      const [text = ''] = /[\w-]+-2\b/.exec(JSON.stringify(entry)) ?? [];
      const { body } = await service.call(`/${kind}?search=${text}`);
      assert.equal(body.data.length, 1, `${text} in ${name}`);
    }
  });

for (const kind of kinds)
  test(`the columns of ${kind} are those of its fields, with their types`, async () => {
    const { all, others } = nouns[kind];
    const { rows: stored } = await sql`
      select attname::text as column, atttypid::regtype::text as type from pg_attribute
      where attrelid = ${`orgdir.${kind}`}::regclass and attnum > 0 and not attisdropped
        and attname <> all(${others}::text[])
      order by attname
    `.execute(database);
    const { rows: described } = await sql`
      select g.column, g.type::regtype::text from jsonb_to_recordset(${JSON.stringify(columnsOf(all))}::jsonb)
        as g("column" text, type text) order by g.column collate "C"
    `.execute(database);
    assert.deepEqual(described, stored);
  });

for (const kind of kinds)
  test(`what moves updated_at of ${kind}, and notes a change, compares every public column`, async () => {
    const { shown, differs } = nouns[kind];
    const { rows } = await sql<{ prosrc: string }>`
      select prosrc from pg_proc where proname = ${differs}
    `.execute(database);
    const never = ['id', 'created_at', 'updated_at'];
    const compared = columnsOf(shown).flatMap(({ column }) =>
      never.includes(column) ? [] : [column],
    );
    if (kind === 'orgs') compared.push('alliance_id');
    for (const side of ['new', 'old']) {
      const named = [...(rows[0]?.prosrc ?? '').matchAll(new RegExp(`\\b${side}\\.(\\w+)`, 'g'))];
      const columns = new Set(named.map(([, column]) => column)).difference(new Set(never));
      assert.deepEqual([...columns].sort(), compared.sort(), side);
    }
  });
