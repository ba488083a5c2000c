import type { LeftJoined } from './database.ts';

/** The entries and the total of a statement that joins one page to its total: a page past the last has one row without an entry. */
export function pageOf<Entry extends { id: string }>(
  rows: ({ total: number } & LeftJoined<Entry>)[],
): { entries: Entry[]; total: number } {
  const total = rows[0]?.total ?? 0;
  const entries: Entry[] = [];
  for (const row of rows) {
    if (row.id === null) continue;
    const entry: Entry & { total?: number } = row;
    delete entry.total;
    entries.push(entry);
  }
  return { entries, total };
}
