/**
 * Loads the demo data at the first start on an embedded database: the directory in `demo/`, an app and its key. All of
 * it is one transaction, so a start that is killed half-way tries again.
 */
import { createReadStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createApp } from '../access/apps.ts';
import { createKey, scopes } from '../access/keys.ts';
import { sql, type Database, type Transaction } from '../database/database.ts';
import { importLines, tidyAfterImport, type ImportKind } from '../directory/import.ts';
import { readNdjson } from '../directory/import-source.ts';

const folder = new URL('../../../demo/', import.meta.url);
const kinds: ImportKind[] = ['alliances', 'orgs', 'blueprints'];
const installationName = 'demo';

/**
 * Commands may have imported a directory or restored a backup before the service's first start; the demo data must not mix
 * with it.
 */
const hasEntries = sql`
  exists (select from orgs) or exists (select from alliances) or exists (select from blueprints)
  or exists (select from apps) or exists (select from users)
`;

/** Loads the demo data, or records that it is not wanted. Does nothing if that was decided before. */
export async function loadDemoOnce(
  database: Database,
  options: { dataDir: string; wanted: boolean; publicUrl: string },
): Promise<void> {
  const loaded = await database.transaction().execute(async (tx) => {
    const { rows } = await sql<{ value: string }>`
      insert into installation (name, value)
      select ${installationName}, case when ${options.wanted} and not (${hasEntries}) then 'loaded' else 'left out' end
      on conflict do nothing returning value
    `.execute(tx);
    if (rows[0]?.value !== 'loaded') return false;
    await loadDirectory(tx, options.publicUrl);
    await createDemoKey(tx, options.dataDir);
    return true;
  });
  if (!loaded) return;
  for (const kind of kinds)
    await tidyAfterImport(database, kind, {
      created: Number.POSITIVE_INFINITY,
      updated: 0,
      bad: 0,
      badLines: [],
    });
}

/** Whether the directory began with the demo data. */
export async function hasDemo(database: Database): Promise<boolean> {
  const { rows } = await sql`
    select from installation where name = ${installationName} and value = 'loaded'
  `.execute(database);
  return rows.length > 0;
}

/** Returns the demo key, or null if there is no demo data or the key was revoked. */
export async function readDemoKey(database: Database, dataDir: string): Promise<string | null> {
  const key = await readFile(keyFile(dataDir), 'utf8').catch(() => null);
  if (key === null) return null;
  const { rows } = await sql`
    select 1 from api_keys where hash = sha256(${key.trim()}::text::bytea) and revoked_at is null
  `.execute(database);
  return rows.length > 0 ? key.trim() : null;
}

async function loadDirectory(tx: Transaction, publicUrl: string): Promise<void> {
  for (const kind of kinds) {
    const file = createReadStream(new URL(`${kind}.ndjson`, folder));
    await importLines(tx, readNdjson(file), { kind, skipBad: false, emitEvents: false, publicUrl });
  }
}

async function createDemoKey(tx: Transaction, dataDir: string): Promise<void> {
  const actor = { kind: 'system', id: null, name: 'demo' } as const;
  const appId = await createApp(tx, actor, { name: 'Demo', owner: 'demo@localhost' });
  const { key } = await createKey(tx, actor, { appId, name: 'Demo key', scopes, expiresAt: null });
  // Stored next to SECRET_KEY with the same mode: anyone who can read this folder can read the whole directory.
  await writeFile(keyFile(dataDir), `${key}\n`, { mode: 0o600, flush: true });
}

function keyFile(dataDir: string): string {
  return join(dataDir, 'demo-key');
}
