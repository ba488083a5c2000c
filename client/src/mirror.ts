/** Keeps a copy of the directory right: downloads it once, and then follows its changes. */
import { ApiError } from './api-error.ts';
import type { Connection } from './connection.ts';
import type { Directory } from './directory.ts';
import { retryAfterMs } from './events.ts';
import { OrgdirError } from './orgdir-error.ts';
import { checkDuration, type RequestOptions } from './options.ts';
import { pageLimitMax } from './pages.ts';
import { isTemporary } from './retry.ts';
import type { Alliance, Blueprint, Organisation } from './types.ts';
import { wait } from './wait.ts';

export type MirrorEntries = { orgs: Organisation; alliances: Alliance; blueprints: Blueprint };
export type MirrorKind = keyof MirrorEntries;
type EntryOf<Kind extends MirrorKind> = MirrorEntries[Kind];

/**
 * Where the copy is. Each method that writes stores the cursor in the same transaction as the entries, and awaits the end of that
 * transaction. So the copy is that of one moment whenever the program ends. A mirror calls one method at a time.
 */
export type MirrorStore = {
  /** Returns the cursor that was stored last, or null. */
  cursor(kind: MirrorKind): string | null | Promise<string | null>;
  /** Replaces everything of this kind. If `batches` rejects, nothing may be replaced. */
  replace<Kind extends MirrorKind>(
    kind: Kind,
    batches: AsyncIterable<EntryOf<Kind>[]>,
    cursor: string,
  ): void | Promise<void>;
  /** Stores the changed entries over those with the same ids, and deletes those with the removed ids, if they are there. */
  apply<Kind extends MirrorKind>(
    kind: Kind,
    changes: { changed: EntryOf<Kind>[]; removed: string[]; cursor: string },
  ): void | Promise<void>;
};

export type MirrorOptions = RequestOptions & {
  store: MirrorStore;
  /** Default: all. */
  kinds?: readonly MirrorKind[] | undefined;
  /** The pause after the newest change, in milliseconds. Default: 5,000. */
  pollMs?: number | undefined;
  /** Its event `change` ends the pause, for example when a webhook says that an entry has changed: once per second at most. */
  wake?: EventTarget | undefined;
  /** Called with each failure that is tried again, such as a lost connection. */
  onFailure?: ((failure: OrgdirError) => void) | undefined;
};

/** What a mirror reads. */
type Lists = { [Kind in MirrorKind]: Directory<EntryOf<Kind>, unknown, MirrorQuery> };
type MirrorQuery = { changedSince?: string; limit?: number };

const allKinds: readonly MirrorKind[] = ['orgs', 'alliances', 'blueprints'];
export const defaultPollMs = 5000;
const pollMsMin = 100;
/** The pause that is left however often it is woken, so that its key has requests left for others. */
const wokenMsMin = 1000;
export const backoffMaxMs = 60_000;
/** The longest `Retry-After` of the service. One of a proxy may be longer than any timer, or stop the copy for days. */
export const retryAfterMaxMs = 3_600_000;

export async function mirror(
  { signals }: Connection,
  lists: Lists,
  { store, kinds = allKinds, pollMs = defaultPollMs, wake, onFailure, ...options }: MirrorOptions,
): Promise<never> {
  checkDuration('pollMs', pollMs, pollMsMin);
  if (kinds.length === 0) throw new TypeError('kinds must not be empty');
  const cursors = new Map<MirrorKind, string | null>();
  for (const kind of kinds) cursors.set(kind, await store.cursor(kind));
  let hasRead = false;
  const goOn = async <Kind extends MirrorKind>(kind: Kind): Promise<boolean> => {
    const { cursor, hasMore } = await advance(kind, cursors.get(kind) ?? null, {
      list: lists[kind],
      store,
      options,
    });
    cursors.set(kind, cursor);
    hasRead = true;
    return hasMore;
  };
  let woken = new AbortController();
  const wakeUp = () => woken.abort();
  wake?.addEventListener('change', wakeUp);
  let turns = [...kinds];
  try {
    for (let failures = 0; ;) {
      let waitMs = pollMs;
      // From before the reads, so that a change during them ends the pause after them.
      woken = new AbortController();
      try {
        for (const kind of turns) {
          // If it fails, the others come before it in the next round.
          turns = [...turns.filter((each) => each !== kind), kind];
          while (await goOn(kind));
        }
        failures = 0;
      } catch (error) {
        if (!isTemporary(error, hasRead)) throw error;
        onFailure?.(error);
        const backoffMs = Math.min(pollMs * 2 ** failures, backoffMaxMs);
        waitMs = Math.max(pollMs, backoffMs, Math.min(retryAfterMs(error), retryAfterMaxMs));
        failures += 1;
      }
      // A failure has its whole pause.
      const leastMs = failures > 0 ? waitMs : Math.min(waitMs, wokenMsMin);
      await wait(leastMs, signals(options));
      if (waitMs > leastMs) await waitUnless(woken.signal, waitMs - leastMs, signals(options));
    }
  } finally {
    // Whoever starts the mirror again after an error keeps the same target.
    wake?.removeEventListener('change', wakeUp);
  }
}

async function waitUnless(woken: AbortSignal, durationMs: number, signals: AbortSignal[]) {
  await wait(durationMs, [...signals, woken]).catch((error: unknown) => {
    if (!woken.aborted || signals.some(({ aborted }) => aborted)) throw error;
  });
}

type Sides<Kind extends MirrorKind> = {
  list: Lists[Kind];
  store: MirrorStore;
  options: RequestOptions;
};

async function advance<Kind extends MirrorKind>(
  kind: Kind,
  cursor: string | null,
  sides: Sides<Kind>,
): Promise<Step> {
  try {
    if (cursor !== null) return await applyPage(kind, cursor, sides);
  } catch (error) {
    // The service does not know what has changed since, or not the cursor any more.
    if (!isExpired(error)) throw error;
  }
  return replaceAll(kind, sides);
}

type Step = { cursor: string; hasMore: boolean };

async function replaceAll<Kind extends MirrorKind>(
  kind: Kind,
  { list, store, options }: Sides<Kind>,
): Promise<Step> {
  const { batches, nextCursor } = await list.download(options);
  await store.replace(kind, batches as AsyncGenerator<EntryOf<Kind>[]>, nextCursor);
  return { cursor: nextCursor, hasMore: false };
}

async function applyPage<Kind extends MirrorKind>(
  kind: Kind,
  changedSince: string,
  { list, store, options }: Sides<Kind>,
): Promise<Step> {
  const { data, meta } = await list.list({ changedSince, limit: pageLimitMax }, options);
  const { removed, nextCursor, hasMore } = meta.changes ?? noChanges();
  if (nextCursor !== changedSince) {
    await store.apply(kind, { changed: data, removed, cursor: nextCursor });
  }
  return { cursor: nextCursor, hasMore };
}

function noChanges(): never {
  throw new OrgdirError('the service has no changes: it is older than this client');
}

function isExpired(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    (error.code === 'cursor_expired' || error.code === 'validation_failed')
  );
}
