/** Keeps the copy of a mirror in memory. */
import type { MirrorKind, MirrorStore } from '@orgdir/client';

export type Copy = Map<string, { id: string }>;
export type MemoryStore = MirrorStore & {
  copies: Record<MirrorKind, Copy>;
  /** What was downloaded, each time. */
  replaced: MirrorKind[];
};

export function createMemoryStore(): MemoryStore {
  const copies: MemoryStore['copies'] = {
    orgs: new Map(),
    alliances: new Map(),
    blueprints: new Map(),
  };
  const cursors = new Map<MirrorKind, string>();
  const replaced: MirrorKind[] = [];
  return {
    copies,
    replaced,
    cursor: (kind) => cursors.get(kind) ?? null,
    async replace(kind, batches, cursor) {
      const copy: Copy = new Map();
      for await (const entries of batches) for (const entry of entries) copy.set(entry.id, entry);
      copies[kind] = copy;
      cursors.set(kind, cursor);
      replaced.push(kind);
    },
    apply(kind, { changed, removed, cursor }) {
      for (const entry of changed) copies[kind].set(entry.id, entry);
      for (const id of removed) copies[kind].delete(id);
      cursors.set(kind, cursor);
    },
  };
}
