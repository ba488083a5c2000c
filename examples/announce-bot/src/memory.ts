/** What the bot must not forget, in a file: how far it has come, and what of the page there it has announced. */
import { readFile, rename, writeFile } from 'node:fs/promises';

export type Memory = {
  /** Nothing was ever kept. */
  readonly isNew: boolean;
  /** Where the page under way begins; null: at the first event there is. */
  readonly cursor: string | null;
  has(eventId: string): boolean;
  add(eventId: string): Promise<void>;
  remove(eventId: string): Promise<void>;
  /** The page is done: the next begins here. */
  turnPage(cursor: string | null): Promise<void>;
};

type Kept = { cursor: string | null; announced: string[] };

/** Throws where the file is there and cannot be read: to begin anew would announce nothing, or everything. */
export async function openMemory(file: string): Promise<Memory> {
  let kept = await read(file);

  async function keep(next: Kept): Promise<void> {
    await write(file, next);
    kept = next;
  }
  const current = () => kept ?? { cursor: null, announced: [] };

  return {
    get isNew() {
      return kept === null;
    },
    get cursor() {
      return current().cursor;
    },
    has: (eventId) => current().announced.includes(eventId),
    add: (eventId) => keep({ ...current(), announced: [...current().announced, eventId] }),
    remove: (eventId) =>
      keep({ ...current(), announced: current().announced.filter((each) => each !== eventId) }),
    turnPage: (cursor) => keep({ cursor, announced: [] }),
  };
}

async function read(file: string): Promise<Kept | null> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Kept;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Whole or not at all, whenever the bot is killed. */
async function write(file: string, kept: Kept): Promise<void> {
  const draft = `${file}.draft`;
  await writeFile(draft, JSON.stringify(kept), { flush: true });
  await rename(draft, file);
}
