/**
 * Writes one organisation or alliance: creates or replaces it, patches it, deletes it. Each function runs in the caller's
 * transaction.
 */
import { nameActor } from '../access/audit-log.ts';
import { sql, type Transaction } from '../database/database.ts';
import { ServiceError } from '../errors.ts';
import { withFormerName } from './aliases.ts';
import { announceNew } from './announce.ts';
import { writeManagers, type ManagedKind } from './import-managers.ts';
import { lockDirectory } from './lock-directory.ts';
import type { Written as Stored } from './rows.ts';
import { rename, requireFreeSlug, type WriteOptions, type Written } from './write-entry.ts';

type Named = { id: string; name: string; aliases: string[]; links: object };
type Fields = {
  slug?: string | null;
  name: string;
  aliases?: string[];
  managers?: string[];
  links: object;
};
type Managed<Entry, Input> = {
  kind: ManagedKind;
  read: (tx: Transaction, slug: string, publicUrl: string) => Promise<Entry | null>;
  /** What a patch changes. */
  inputOf: (entry: Entry) => Input;
  store: (tx: Transaction, slug: string, input: Input) => Promise<Stored[]>;
};

export function managedWrites<Entry extends Named, Input extends Fields>(
  managed: Managed<Entry, Input>,
) {
  const { kind, inputOf } = managed;
  type Options = WriteOptions<Entry>;
  return {
    /**
     * Creates the entry, or replaces all its fields; `managers`, `aliases` and the members of an alliance stay if left out.
     * Throws `conflict`, `validation_failed`.
     */
    put: async (
      tx: Transaction,
      slug: string,
      input: Input,
      options: Options,
    ): Promise<Written<Entry>> => {
      const before = await lock(tx, managed, slug, options);
      if (!before) await requireFreeSlug(tx, kind, slug, null, 'params.slug');
      const kept = withFormerName(input, before, options);
      return { created: !before, entry: await write(tx, managed, slug, kept, options) };
    },

    /** Changes the given fields; a new `slug` renames it. Throws `not_found`, `conflict`, `validation_failed`. */
    patch: async (
      tx: Transaction,
      slug: string,
      changes: Partial<Input>,
      options: Options,
    ): Promise<Entry> => {
      const before = await lock(tx, managed, slug, options);
      if (!before) throw new ServiceError('not_found');
      const next = changes.slug ?? slug;
      if (next !== slug) await rename(tx, kind, before.id, next);
      const links = { ...before.links, ...changes.links };
      // Left out, so that the managers stay.
      const { managers: _, ...fields } = inputOf(before);
      const input = { ...fields, ...changes, links } as Input;
      return write(tx, managed, next, withFormerName(input, before, options), options);
    },

    /** Deletes it with its managers and the bindings of apps to it. Returns its id. Throws `not_found`. */
    remove: async (tx: Transaction, slug: string, options: Options): Promise<string> => {
      const before = await lock(tx, managed, slug, options);
      if (!before) throw new ServiceError('not_found');
      await nameActor(tx, options.actor);
      await sql`delete from ${sql.table(kind)} where id = ${before.id}`.execute(tx);
      return before.id;
    },
  };
}

/** Reads the entry and locks it until the transaction ends. */
async function lock<Entry, Input>(
  tx: Transaction,
  { kind, read }: Managed<Entry, Input>,
  slug: string,
  { publicUrl, check }: WriteOptions<Entry>,
): Promise<Entry | null> {
  await lockDirectory(tx, 'orgs');
  await sql`select from ${sql.table(kind)} where slug = ${slug} for update`.execute(tx);
  const before = await read(tx, slug, publicUrl);
  check(before);
  return before;
}

async function write<Entry, Input extends Fields>(
  tx: Transaction,
  { kind, read, store }: Managed<Entry, Input>,
  slug: string,
  input: Input,
  { actor, publicUrl }: WriteOptions<Entry>,
): Promise<Entry> {
  const stored = await store(tx, slug, input);
  await nameActor(tx, actor);
  await writeManagers(tx, kind, [{ ...input, slug }]);
  await announceNew(tx, kind, stored, publicUrl);
  const entry = await read(tx, slug, publicUrl);
  if (!entry) throw new Error('the entry that was written is not there');
  return entry;
}
