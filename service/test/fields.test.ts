/** Every field of an organisation, an alliance and a blueprint, one at a time: each way of writing changes it, and nothing else. */
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import type { TObject } from 'typebox';
import { Alliance } from '../src/contract/alliance.ts';
import { Blueprint } from '../src/contract/blueprint.ts';
import { Organisation } from '../src/contract/organisation.ts';
import { sql } from '../src/database/database.ts';
import { csvColumns, csvLine } from '../src/directory/csv-line.ts';
import { exportLines } from '../src/directory/export.ts';
import { importLines, importSchemas, type ImportKind } from '../src/directory/import.ts';
import { readCsv } from '../src/directory/import-source.ts';
import { put } from './support/directory.ts';
import { startInternalApi } from './support/internal-api.ts';
import { samplesOf } from './support/sample.ts';
import { startTestService, testPublicUrl } from './support/service.ts';

const service = await startTestService();
const { call } = await startInternalApi(service);
const { database } = service;

type Entry = Record<string, any>;
type Write = (kind: ImportKind, entry: Entry, change: Entry) => Promise<unknown>;

const shown: Record<ImportKind, TObject> = {
  orgs: Organisation,
  alliances: Alliance,
  blueprints: Blueprint,
};
const identity = { orgs: 'slug', alliances: 'slug', blueprints: 'key' } as const;
/** Changes that bring others with them. */
const companions: Entry = { active: { retiredAt: null } };
/** Null asks the service to choose: a slug is made from the name, a time of retirement stays. */
const chosenWhereNull = ['slug', 'retiredAt'];

const inputsOf = (kind: ImportKind) => (importSchemas[kind] as unknown as TObject).properties;
const samplesFor = (kind: ImportKind, number: number): Entry => ({
  ...samplesOf(inputsOf(kind), number),
  ...(kind === 'blueprints' ? { active: number === 2 } : {}),
});
const isNullable = (schema: Entry) => [schema['type']].flat().includes('null');

const ways: Record<string, Write> = {
  NDJSON: (kind, entry) => put(database, kind, [entry]),
  CSV: (kind, entry) => {
    const columns = csvColumns(importSchemas[kind]);
    const text = `${columns.join(',')}\n${csvLine(entry, columns)}\n`;
    const lines = readCsv(Readable.from([Buffer.from(text)]), importSchemas[kind]);
    const options = { kind, skipBad: false, emitEvents: false, publicUrl: testPublicUrl };
    return database.transaction().execute((tx) => importLines(tx, lines, options));
  },
  PATCH: async (kind, entry, change) => {
    const path = `/${kind}/${encodeURIComponent(entry[identity[kind]])}`;
    const { status, text } = await call(path, { method: 'PATCH', json: change });
    assert.equal(status, 200, text);
  },
};

for (const [way, kinds] of Object.entries({
  NDJSON: ['orgs', 'alliances', 'blueprints'],
  CSV: ['orgs', 'alliances'],
  PATCH: ['orgs', 'alliances', 'blueprints'],
}))
  for (const kind of kinds as ImportKind[])
    test(`${way} changes and clears each field of ${kind}, and moves updatedAt for public ones`, () =>
      tryFields(kind, ways[way] as Write));

async function tryFields(kind: ImportKind, write: Write): Promise<void> {
  await sql`delete from ${sql.table(kind)}`.execute(database);
  await sql`delete from former_slugs`.execute(database);
  for (const number of [1, 2])
    await put(database, 'alliances', [samplesFor('alliances', number)].map(renameTo(number)));
  const [base, other] = [samplesFor(kind, 1), samplesFor(kind, 2)];
  for (const [name, schema] of Object.entries(inputsOf(kind))) {
    if (name === identity[kind]) continue;
    await tryChange(kind, base, { [name]: other[name], ...companions[name] }, write);
    if (isNullable(schema) && !chosenWhereNull.includes(name))
      await tryChange(kind, base, { [name]: null }, write);
  }
}

/** The samples of an organisation name their alliances so. */
function renameTo(number: number) {
  return (alliance: Entry) => ({ ...alliance, slug: `alliance-${number}` });
}

async function tryChange(kind: ImportKind, base: Entry, change: Entry, write: Write) {
  const what = JSON.stringify(change);
  const entry = { ...base, ...change };
  await put(database, kind, [base]);
  assert.deepEqual(await exported(kind, base), base);
  await backdate(kind);
  await write(kind, entry, change);
  assert.deepEqual(await exported(kind, entry), entry, what);
  const { updatedAt, alliance, ...read } = await readBack(kind, entry);
  const fields = kind === 'orgs' ? { ...read, alliance: alliance?.slug ?? null } : read;
  for (const name of Object.keys(entry)) assert.deepEqual(fields[name], entry[name], what);
  const isPublic = Object.keys(change).some((name) => name in shown[kind].properties);
  assert.equal(updatedAt !== longAgo, isPublic, `updatedAt after ${what}`);
}

async function exported(kind: ImportKind, entry: Entry): Promise<Entry | undefined> {
  const found: Entry[] = [];
  await database.transaction().execute(async (tx) => {
    for await (const lines of exportLines(tx, kind)) found.push(...lines);
  });
  return found.find((line) => line[identity[kind]] === entry[identity[kind]]);
}

async function readBack(kind: ImportKind, entry: Entry): Promise<Entry> {
  const { body } = await call(`/${kind}/${encodeURIComponent(entry[identity[kind]])}`);
  return body.data;
}

const longAgo = '2001-01-01T00:00:00.000Z';

async function backdate(kind: ImportKind): Promise<void> {
  const table = sql.table(kind);
  await sql`alter table ${table} disable trigger touch`.execute(database);
  await sql`update ${table} set updated_at = ${longAgo}`.execute(database);
  await sql`alter table ${table} enable trigger touch`.execute(database);
}
