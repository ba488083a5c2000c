/** Stores a copy of the directory in SQLite: a table per kind, and where changes go on. */
import { DatabaseSync } from 'node:sqlite';
import type { MirrorStore } from '@orgdir/client';

export type SqliteStore = MirrorStore & { close(): void };

export function openStore(file: string): SqliteStore {
  const database = new DatabaseSync(file);
  database.exec(`
    pragma journal_mode = wal;
    create table if not exists cursors (kind text primary key, cursor text not null) strict;
    create table if not exists orgs (id text primary key, entry text not null) strict;
    create table if not exists alliances (id text primary key, entry text not null) strict;
    create table if not exists blueprints (id text primary key, entry text not null) strict;
  `);

  return {
    cursor(kind) {
      const row = database.prepare('select cursor from cursors where kind = ?').get(kind);
      return typeof row?.['cursor'] === 'string' ? row['cursor'] : null;
    },
    // Readers see the old copy until the end of the transaction.
    replace: (kind, batches, cursor) =>
      inTransaction(async () => {
        database.exec(`delete from ${kind}`);
        for await (const entries of batches) storeEntries(kind, entries);
        storeCursor(kind, cursor);
      }),
    apply: (kind, { changed, removed, cursor }) =>
      inTransaction(() => {
        storeEntries(kind, changed);
        const remove = database.prepare(`delete from ${kind} where id = ?`);
        for (const id of removed) remove.run(id);
        storeCursor(kind, cursor);
      }),
    close: () => database.close(),
  };

  /** A mirror calls one method at a time, so nothing else is in the transaction. */
  async function inTransaction(write: () => void | Promise<void>): Promise<void> {
    database.exec('begin immediate');
    try {
      await write();
      database.exec('commit');
    } catch (error) {
      database.exec('rollback');
      throw error;
    }
  }

  function storeEntries(kind: string, entries: { id: string }[]): void {
    const store = database.prepare(`insert or replace into ${kind} (id, entry) values (?, ?)`);
    for (const entry of entries) store.run(entry.id, JSON.stringify(entry));
  }

  function storeCursor(kind: string, cursor: string): void {
    database
      .prepare('insert or replace into cursors (kind, cursor) values (?, ?)')
      .run(kind, cursor);
  }
}
