/** Stores the state of the bot in a file: the cursor, and the announced events of the current page. */
import { readFile, rename, writeFile } from 'node:fs/promises';

export type Memory = {
  /** Whether there is no stored state. */
  readonly isNew: boolean;
  /** The start of the current page; null is the first event. */
  readonly cursor: string | null;
  /** When the newest event that was read happened. */
  readonly readUntil: string;
  has(eventId: string): boolean;
  add(eventId: string): Promise<void>;
  remove(eventId: string): Promise<void>;
  saveCursor(cursor: string | null, readUntil: string): Promise<void>;
  /** Replaces a cursor that the service refuses. `announced`: the events of that page that were announced before. */
  replaceCursor(cursor: string | null, announced: string[]): Promise<void>;
};

type State = { cursor: string | null; announced: string[]; readUntil: string };

/** Throws if the file exists but cannot be read: starting over would announce nothing, or everything. */
export async function openMemory(file: string): Promise<Memory> {
  let state = await read(file);

  async function save(next: State): Promise<void> {
    await write(file, next);
    state = next;
  }
  const current = () => state ?? { cursor: null, announced: [], readUntil: '' };

  return {
    get isNew() {
      return state === null;
    },
    get cursor() {
      return current().cursor;
    },
    get readUntil() {
      return current().readUntil;
    },
    has: (eventId) => current().announced.includes(eventId),
    add: (eventId) => save({ ...current(), announced: [...current().announced, eventId] }),
    remove: (eventId) =>
      save({ ...current(), announced: current().announced.filter((each) => each !== eventId) }),
    saveCursor: (cursor, readUntil) => save({ cursor, announced: [], readUntil }),
    replaceCursor: (cursor, announced) =>
      save({ ...current(), cursor, announced: [...current().announced, ...announced] }),
  };
}

async function read(file: string): Promise<State | null> {
  try {
    // A file of an earlier version does not have the time.
    const readUntil = new Date().toISOString();
    const stored = JSON.parse(await readFile(file, 'utf8')) as Partial<State>;
    return { cursor: null, announced: [], readUntil, ...stored };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Atomic, in case the bot is killed meanwhile. */
async function write(file: string, state: State): Promise<void> {
  const draft = `${file}.draft`;
  await writeFile(draft, JSON.stringify(state), { flush: true });
  await rename(draft, file);
}
