/** An exported directory that is imported again is the same. */
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { sql, type Database } from '../../src/database/database.ts';
import { csvColumns, exportLines, toCsv } from '../../src/directory/export.ts';
import { importLines, importSchemas, type ImportKind } from '../../src/directory/import.ts';
import { readNdjson } from '../../src/directory/import-source.ts';
import { readCsv } from '../../src/directory/read-csv.ts';
import { AllianceInput, BlueprintInput, OrgInput } from '../../src/directory/inputs.ts';
import { openTestDatabase } from '../support/database.ts';
import { blueprint, put } from '../support/directory.ts';
import { testPublicUrl } from '../support/service.ts';

const [{ database: origin }, { database: copy }] = await Promise.all([
  openTestDatabase(),
  openTestDatabase(),
]);
const kinds: ImportKind[] = ['alliances', 'orgs', 'blueprints'];

async function clear(database: Database): Promise<void> {
  for (const kind of kinds) await sql`delete from ${sql.table(kind)}`.execute(database);
}

function exportText(
  database: Database,
  kind: ImportKind,
  format: 'ndjson' | 'csv' = 'ndjson',
): Promise<string> {
  return database.transaction().execute(async (tx) => {
    const columns = csvColumns(importSchemas[kind]);
    let text = format === 'csv' ? `${columns.join(',')}\n` : '';
    for await (const entries of exportLines(tx, kind))
      text +=
        format === 'csv'
          ? toCsv(entries, columns)
          : entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
    return text;
  });
}

function importText(
  database: Database,
  kind: ImportKind,
  text: string,
  format: 'ndjson' | 'csv' = 'ndjson',
) {
  const input = Readable.from([Buffer.from(text)]);
  const lines = format === 'csv' ? readCsv(input, importSchemas[kind]) : readNdjson(input);
  return database
    .transaction()
    .execute((tx) =>
      importLines(tx, lines, { kind, skipBad: false, emitEvents: false, publicUrl: testPublicUrl }),
    );
}

const madeAnew = new Set(['id', 'alliance_id', 'created_at', 'updated_at', 'first_listed_at']);

/** All stored data in the order of creation, without what an import generates. */
async function contentOf(database: Database): Promise<Record<string, unknown[]>> {
  const content: Record<string, unknown[]> = {};
  for (const [table, query] of Object.entries({
    orgs: sql`select o.*, a.slug as alliance, array(select email from org_managers where org_id = o.id order by 1) as managers
      from orgs o left join alliances a on a.id = o.alliance_id order by o.created_at, o.id`,
    alliances: sql`select a.*, array(select email from alliance_managers where alliance_id = a.id order by 1) as managers
      from alliances a order by a.created_at, a.id`,
    blueprints: sql`select * from blueprints order by created_at, id`,
    totals: sql`select kind, sum(entries) as entries from list_totals group by kind order by kind`,
  })) {
    const { rows } = await query.execute(database);
    content[table] = (rows as Record<string, unknown>[]).map((row) =>
      Object.fromEntries(Object.entries(row).filter(([column]) => !madeAnew.has(column))),
    );
  }
  return content;
}

/** With the times and ids that an update must not touch. */
async function everythingOf(database: Database): Promise<unknown[]> {
  const tables = [
    'orgs',
    'alliances',
    'blueprints',
    'org_managers',
    'alliance_managers',
    'bindings',
  ];
  const found = [];
  for (const table of tables)
    found.push(
      (await sql`select * from ${sql.table(table)} t order by t::text`.execute(database)).rows,
    );
  return found;
}

const word = (maxLength: number) =>
  fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: Math.min(maxLength, 30) })
    .map((text) => Array.from(text.replaceAll('\0', '')).slice(0, maxLength).join(''))
    .filter((text) => text !== '' && !text.includes('\uFFFD'));
const maybe = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: null });
const web = fc.webUrl().filter((url) => url.length <= 2_000);
const time = fc
  .date({
    min: new Date('0001-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59Z'),
    noInvalidDate: true,
  })
  .map((date) => date.toISOString())
  .filter((text) => /^\d{4}/.test(text));
const slugOf = (prefix: string) => fc.nat(11).map((number) => `${prefix}-${number}`);
const email = fc.nat(5).map((number) => `manager-${number}@example.org`);
const amount = fc
  .double({ min: 0, max: 1e12, noNaN: true })
  .map((value) => (Object.is(value, -0) ? 0 : value));
const specials: Record<string, fc.Arbitrary<any>> = {
  managers: fc.uniqueArray(email, { maxLength: 3 }),
  language: maybe(fc.constantFrom('de', 'PT-br', 'zh-Hant-TW')),
  contactEmail: maybe(fc.constant('desk@example.org')),
};

/** Any value that an input may have, by its schema. */
function arbitraryOf(field: string, schema: any): fc.Arbitrary<any> {
  const special = specials[field];
  if (special) return special;
  const types = [schema.type].flat();
  const value = valueOf(field, types, schema);
  return types.includes('null') ? maybe(value) : value;
}

function valueOf(field: string, types: string[], schema: any): fc.Arbitrary<any> {
  const { enum: values, items, properties, pattern = '', format, maxLength } = schema;
  if (values) return fc.constantFrom(...values);
  if (items) {
    const arrayOf = schema.uniqueItems ? fc.uniqueArray : fc.array;
    return arrayOf(arbitraryOf(field, items), { maxLength: 4 });
  }
  if (properties) return recordOf(properties);
  if (types.includes('boolean')) return fc.boolean();
  if (types.includes('integer')) return fc.nat();
  if (types.includes('number')) return amount;
  if (format === 'date-time') return time;
  if (pattern.startsWith('^https')) return web;
  if (pattern.startsWith('^[a-z0-9]')) return slugOf(field);
  return word(maxLength).filter((text) => new RegExp(pattern).test(text));
}

function recordOf(properties: object, more: object = {}): fc.Arbitrary<any> {
  const fields = Object.entries(properties).map(
    ([field, schema]) => [field, arbitraryOf(field, schema)] as const,
  );
  return fc.record({ ...Object.fromEntries(fields), ...more });
}

const alliance = recordOf(AllianceInput.properties, { slug: slugOf('alliance') });
const org = recordOf(OrgInput.properties, { slug: slugOf('org') });
const aBlueprint = recordOf(BlueprintInput.properties).map((fields) =>
  Object.assign(fields, fields.active ? { retiredAt: null } : {}),
);

const directory = fc
  .record({
    alliances: fc.uniqueArray(alliance, { selector: ({ slug }) => slug, maxLength: 6 }),
    orgs: fc.uniqueArray(org, { selector: ({ slug }) => slug, maxLength: 8 }),
    blueprints: fc.uniqueArray(aBlueprint, { selector: ({ key }) => key, maxLength: 8 }),
  })
  .map(({ alliances, orgs, blueprints }) => {
    const known = new Set(alliances.map(({ slug }) => slug));
    const slugs = new Set<string | null>();
    return {
      alliances,
      orgs: orgs.map((each) => ({
        ...each,
        alliance: known.has(each.alliance ?? '') ? each.alliance : null,
      })),
      // Two may not ask for one slug.
      blueprints: blueprints.map((each) => {
        const taken = each.slug !== null && slugs.has(each.slug);
        slugs.add(each.slug);
        return taken ? { ...each, slug: null } : each;
      }),
    };
  });

test('any exported directory imports elsewhere unchanged, except ids and times, and changes nothing where it is from', async () => {
  await fc.assert(
    fc.asyncProperty(directory, async (generated) => {
      await clear(origin);
      await clear(copy);
      for (const kind of kinds) await put(origin, kind, generated[kind]);
      for (const kind of kinds) {
        const text = await exportText(origin, kind);
        const result = await importText(copy, kind, text);
        assert.deepEqual([result.created, result.updated], [generated[kind].length, 0]);
        assert.equal(
          await exportText(copy, kind),
          text,
          'what is exported of the copy is the same text',
        );
        const before = await everythingOf(origin);
        const again = await importText(origin, kind, text);
        assert.deepEqual([again.created, again.updated], [0, generated[kind].length]);
        assert.deepEqual(await everythingOf(origin), before);
      }
      assert.deepEqual(await contentOf(copy), await contentOf(origin));
    }),
    { numRuns: 25 },
  );
});

test('any organisations and alliances round-trip as CSV too', async () => {
  await fc.assert(
    fc.asyncProperty(directory, async (generated) => {
      await clear(origin);
      await clear(copy);
      for (const kind of ['alliances', 'orgs'] as const) {
        await put(origin, kind, generated[kind]);
        await importText(copy, kind, await exportText(origin, kind, 'csv'), 'csv');
      }
      assert.deepEqual(await contentOf(copy), await contentOf(origin));
    }),
    { numRuns: 15 },
  );
});

test('a spreadsheet computes nothing of an exported CSV, and an import reads the same text', async () => {
  await clear(origin);
  await clear(copy);
  const names = [
    '=cmd',
    '+1',
    '-1',
    '@sum',
    '\t=1',
    '\uFF1Dcmd',
    "'=quoted",
    "''@quoted",
    "'tis",
    'a=b',
  ];
  await put(
    origin,
    'orgs',
    names.map((text, index) => ({
      slug: `org-${index}`,
      name: `Org ${index}`,
      description: text,
      aliases: [`=alias${index}`, 'other'],
    })),
  );
  const csv = await exportText(origin, 'orgs', 'csv');
  const cells = parse<Record<string, string>>(csv, { columns: true });
  assert.equal(cells.length, names.length);
  assert.deepEqual(
    cells.flatMap((row) => Object.values(row)).filter((cell) => /^[=+\-@\t\r\uFF1D]/.test(cell)),
    [],
  );
  await importText(copy, 'orgs', csv, 'csv');
  assert.deepEqual(await contentOf(copy), await contentOf(origin));
});

test('an import changes managers by difference, and a line without managers keeps them', async () => {
  await clear(origin);
  const line = { slug: 'acme', name: 'Acme' };
  const emails = async () =>
    (
      await sql<{ email: string }>`select email from org_managers order by email`.execute(origin)
    ).rows.map(({ email: each }) => each);
  await put(origin, 'orgs', [
    { ...line, managers: [' Ada@Example.org ', 'ada@example.org', 'grace@example.org'] },
  ]);
  assert.deepEqual(await emails(), ['ada@example.org', 'grace@example.org']);
  await sql`insert into apps (id, name) values (uuid_v7(), 'Herald')`.execute(origin);
  await sql`
    insert into app_members (app_id, email, role) select id, 'ada@example.org', 'owner' from apps
  `.execute(origin);
  await sql`
    insert into bindings (app_id, owner_email, org_id) select m.app_id, m.email, o.id from app_members m, orgs o
  `.execute(origin);
  await put(origin, 'orgs', [line]);
  assert.equal((await emails()).length, 2, 'left out is left alone');
  await put(origin, 'orgs', [{ ...line, managers: ['ada@example.org', 'kay@example.org'] }]);
  assert.deepEqual(await emails(), ['ada@example.org', 'kay@example.org']);
  const bindings = async () => (await sql`select from bindings`.execute(origin)).rows.length;
  assert.equal(await bindings(), 1, 'who stays keeps the binding');
  await put(origin, 'orgs', [{ ...line, managers: [] }]);
  assert.deepEqual([await emails(), await bindings()], [[], 0]);
});

test('an invalid manager, and retiredAt of an active blueprint, are bad lines', async () => {
  await clear(origin);
  await assert.rejects(put(origin, 'orgs', [{ name: 'A', managers: ['nobody'] }]), (error: any) => {
    assert.match(error.result.badLines[0].reason, /managers\.0 must be an email address/);
    return true;
  });
  await assert.rejects(
    put(origin, 'blueprints', [blueprint({ retiredAt: '2026-01-01T00:00:00Z' })]),
    (error: any) => /retiredAt goes only with active: false/.test(error.result.badLines[0].reason),
  );
});

test('the largest valid entry can be exported and imported again', async () => {
  await clear(origin);
  await clear(copy);
  // Control characters take six bytes each in JSON.
  const text = (length: number) => '\u0001'.repeat(length);
  const large = blueprint({
    key: text(200),
    name: `x${text(199)}`,
    slug: 'large',
    description: text(5_000),
    ingredients: Array.from({ length: 200 }, () => ({
      item: text(200),
      name: text(200),
      quantity: 1,
      unit: text(40),
    })),
    sources: Array.from({ length: 50 }, () => ({ kind: text(80), name: text(200) })),
    version: text(100),
  });
  const managers = Array.from(
    { length: 2_000 },
    (_, index) => `${String(index).padStart(242, 'm')}@example.org`,
  );
  await put(origin, 'blueprints', [large]);
  await put(origin, 'orgs', [
    { slug: 'large', name: 'Large', description: text(5_000), notes: text(5_000), managers },
  ]);
  for (const kind of ['blueprints', 'orgs'] as const) {
    const exported = await exportText(origin, kind);
    assert.ok(exported.length > 500_000);
    assert.equal((await importText(copy, kind, exported)).created, 1);
  }
});

test('an export is a snapshot', async () => {
  await clear(origin);
  await put(
    origin,
    'alliances',
    Array.from({ length: 450 }, (_, index) => ({ slug: `a-${index}`, name: `A ${index}` })),
  );
  const seen: string[] = [];
  await origin
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (tx) => {
      for await (const entries of exportLines(tx, 'alliances')) {
        if (seen.length === 0) {
          await put(origin, 'alliances', [{ slug: 'late', name: 'Late' }]);
          await sql`delete from alliances where slug = 'a-449'`.execute(origin);
        }
        seen.push(...entries.map(({ slug }) => slug ?? ''));
      }
    });
  assert.deepEqual(
    seen,
    Array.from({ length: 450 }, (_, index) => `a-${index}`),
  );
});
