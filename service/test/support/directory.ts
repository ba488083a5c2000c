/** Fills a test's directory through the same import that operators use. */
import { Readable } from 'node:stream';
import { importLines, type ImportKind, type ImportResult } from '../../src/directory/import.ts';
import { publishEvent } from '../../src/directory/publish-in-groups.ts';
import { readNdjson } from '../../src/directory/import-source.ts';
import { sql, type Database, type Transaction } from '../../src/database/database.ts';
import type { Subject } from '../../src/access/managers.ts';
import { testPublicUrl } from './service.ts';

export async function put(
  database: Database,
  kind: ImportKind,
  rows: object[],
  options: { emitEvents?: boolean } = {},
): Promise<ImportResult> {
  return database.transaction().execute((tx) => putIn(tx, kind, rows, options));
}

/** The same in a transaction of the test. */
export function putIn(
  tx: Transaction,
  kind: ImportKind,
  rows: object[],
  options: { emitEvents?: boolean } = {},
): Promise<ImportResult> {
  const text = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  return importLines(tx, readNdjson(Readable.from([Buffer.from(text)])), {
    kind,
    skipBad: false,
    emitEvents: options.emitEvents ?? false,
    allowDuplicates: true,
    publicUrl: testPublicUrl,
  });
}

/** Adds an organisation or an alliance, and returns it as what apps are bound to. */
export async function addSubject(
  database: Database,
  kind: Subject['kind'],
  fields: { slug: string; name: string; listed?: boolean; managers?: string[] },
): Promise<Subject> {
  const table = kind === 'organization' ? 'orgs' : 'alliances';
  await put(database, table, [fields]);
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(table)} where slug = ${fields.slug}
  `.execute(database);
  return { kind, id: rows[0]?.id ?? '' };
}

/** Announces a listed organisation again, as an operator does: an event for everyone. Returns the event's id. */
export function announce(database: Database, org = 'acme'): Promise<string> {
  const publication = { name: 'org.created', org, alliance: null, data: null };
  return database
    .transaction()
    .execute((tx) => publishEvent(tx, { ...publication, publicUrl: testPublicUrl }));
}

let count = 0;

/** A blueprint with all that is required, and what the test wants different. */
export function blueprint(fields: Record<string, unknown> = {}): Record<string, unknown> {
  count += 1;
  const key = (fields['key'] as string | undefined) ?? `item_${count}`;
  return {
    key,
    name: `Item ${count}`,
    category: 'materials',
    output: { item: key, name: `Item ${count}`, quantity: 1 },
    ...fields,
  };
}
