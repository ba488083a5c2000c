/** Writes organisations and alliances as an import does, with all their fields, and announces what is public for the first time. */
import { sql, type Transaction } from '../../src/database/database.ts';
import { importLines, type ImportKind } from '../../src/directory/import.ts';
import type { Command } from './commands.ts';
import { nameOf, privateWord, slugOf } from './naming.ts';
import type { State } from './state.ts';

export const publicUrl = 'https://directory.example.org';

export async function putOrg(
  tx: Transaction,
  { org, listed, alliance, rename }: Extract<Command, { do: 'set-org' }>,
  state: State,
): Promise<{ id: string }> {
  const before = state.orgs.get(org);
  const kept = [...state.alliances].find(([, { key }]) => key === before?.alliance)?.[0] ?? null;
  const slot = alliance === undefined ? kept : alliance;
  const row = {
    slug: slugOf('org', org),
    name: nameOf(org, (before?.version ?? 0) + (rename ? 1 : 0)),
    listed: listed ?? before?.listed ?? true,
    alliance: slot === null ? null : slugOf('alliance', slot),
    notes: privateWord,
    contactEmail: `${privateWord}@example.org`,
    chatServerId: privateWord,
  };
  return put(tx, 'orgs', row, !before?.everListed);
}

export async function putAlliance(
  tx: Transaction,
  { alliance, disbanded, rename }: Extract<Command, { do: 'set-alliance' }>,
  state: State,
): Promise<{ id: string }> {
  const before = state.alliances.get(alliance);
  const row = {
    slug: slugOf('alliance', alliance),
    name: nameOf(alliance, (before?.version ?? 0) + (rename ? 1 : 0)),
    status: (disbanded ?? before?.disbanded) ? 'disbanded' : 'active',
  };
  return put(tx, 'alliances', row, true);
}

async function put(
  tx: Transaction,
  kind: Exclude<ImportKind, 'blueprints'>,
  row: { slug: string },
  emitEvents: boolean,
): Promise<{ id: string }> {
  const lines = (async function* () {
    yield { number: 1, value: row };
  })();
  await importLines(tx, lines, { kind, skipBad: false, emitEvents, publicUrl });
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(kind)} where slug = ${row.slug}
  `.execute(tx);
  return { id: rows[0]?.id ?? '' };
}
