/**
 * Writes one organisation or alliance: creates or replaces it, patches it, deletes it. Each function runs in the caller's
 * transaction.
 */
import { nameActor } from '../access/audit-log.ts';
import { writeManagers, type ManagedKind } from '../access/managers.ts';
import type { ManagedAllianceDetail, ManagedOrganisation } from '../contract/managed.ts';
import { issuesMax } from '../contract/validate.ts';
import { sql, type Transaction } from '../database/database.ts';
import { invalid, ServiceError } from '../errors.ts';
import { withFormerName } from './aliases.ts';
import { allianceIds, upsertAlliances } from './alliances.ts';
import { announceNew } from './announce.ts';
import { AllianceInput, OrgInput } from './inputs.ts';
import { lockDirectory } from './lock-directory.ts';
import { readManagedAlliance, readManagedOrg } from './managed-entries.ts';
import { upsertOrgs } from './orgs.ts';
import type { Written as Stored } from './rows.ts';
import {
  pickFields,
  rename,
  requireFreeSlug,
  type WriteOptions,
  type Written,
} from './write-entry.ts';

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

export const {
  put: putOrg,
  patch: patchOrg,
  remove: deleteOrg,
} = managedWrites<ManagedOrganisation, OrgInput>({
  kind: 'orgs',
  read: readManagedOrg,
  inputOf({ alliance, ...fields }) {
    return pickFields(OrgInput, { ...fields, alliance: alliance?.slug ?? null });
  },
  async store(tx, slug, input) {
    const allianceId = await requireAlliance(tx, input.alliance);
    return upsertOrgs(tx, [{ ...input, slug, allianceId }]);
  },
});

async function requireAlliance(tx: Transaction, slug: string | null): Promise<string | null> {
  if (slug === null) return null;
  const id = (await allianceIds(tx, [slug])).get(slug);
  if (id === undefined)
    throw invalid({ path: 'body.alliance', message: `there is no alliance ${slug}` });
  return id;
}

/** `orgs` are the slugs of all its members; if left out, the members stay. */
export type AllianceFields = AllianceInput & { orgs?: string[] };

export const {
  put: putAlliance,
  patch: patchAlliance,
  remove: deleteAlliance,
} = managedWrites<ManagedAllianceDetail, AllianceFields>({
  kind: 'alliances',
  read: readManagedAlliance,
  inputOf: (entry) => pickFields(AllianceInput, entry),
  async store(tx, slug, { orgs, ...input }) {
    const written = await upsertAlliances(tx, [{ ...input, slug }]);
    if (orgs) await setMembers(tx, slug, orgs);
    return written;
  },
});

/** Replaces the members. An organisation that was in another alliance leaves it. */
async function setMembers(tx: Transaction, alliance: string, orgs: string[]): Promise<void> {
  const { rows } = await sql<{ slug: string }>`
    select slug from orgs where slug = any(${orgs}::text[])
  `.execute(tx);
  const known = new Set(rows.map(({ slug }) => slug));
  const issues = orgs.flatMap((slug, index) =>
    known.has(slug)
      ? []
      : [{ path: `body.orgs.${index}`, message: `there is no organisation ${slug}` }],
  );
  if (issues.length > 0) throw invalid(...issues.slice(0, issuesMax));
  const id = sql`(select id from alliances where slug = ${alliance})`;
  // Two conditions that each have an index.
  await sql`
    update orgs set alliance_id = case when slug = any(${orgs}::text[]) then ${id} end
    where alliance_id = ${id} and slug <> all(${orgs}::text[])
      or slug = any(${orgs}::text[]) and alliance_id is distinct from ${id}
  `.execute(tx);
}

function managedWrites<Entry extends Named, Input extends Fields>(managed: Managed<Entry, Input>) {
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
