/**
 * Writes one organisation, alliance or blueprint: creates or replaces it, patches it, deletes it. Each function runs in the
 * caller's transaction.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Static, TObject } from 'typebox';
import { nameActor, recordAudit } from '../access/audit-log.ts';
import { writeManagers, type ManagedKind } from '../access/managers.ts';
import type { ManagedAllianceDetail, ManagedOrganisation } from '../contract/managed.ts';
import { issuesMax } from '../contract/validate.ts';
import { sql, type Transaction } from '../database/database.ts';
import { invalid, ServiceError } from '../errors.ts';
import { withFormerName } from './aliases.ts';
import { allianceIds, upsertAlliances } from './alliances.ts';
import { announceNew } from './announce.ts';
import { AllianceInput, OrgInput, BlueprintInput } from './inputs.ts';
import { lockDirectory, type SlugTable } from './lock-directory.ts';
import { readManagedAlliance, readManagedOrg } from './managed-entries.ts';
import { upsertOrgs } from './orgs.ts';
import type { Written as Stored } from './rows.ts';
import type { Blueprint } from '../contract/blueprint.ts';
import { findBlueprint, upsertBlueprints } from './blueprints.ts';
import {
  SlugAllocator,
  describeReservation,
  isAllowedSlug,
  isReserved,
  reservedSlugs,
} from './slug.ts';
import type { Actor } from '../access/actor.ts';
import { privateOrgFields } from '../contract/organisation.ts';
import { cutText } from '../contract/cut-text.ts';

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

type BlueprintOptions = Pick<WriteOptions<Blueprint>, 'check'>;

/** Creates or replaces the blueprint with this key; without a `slug` it keeps its own. Throws `conflict`, `validation_failed`. */
export async function putBlueprint(
  tx: Transaction,
  input: BlueprintInput,
  options: BlueprintOptions,
): Promise<Written<Blueprint>> {
  const before = await lockBlueprint(tx, input.key, options);
  return { created: !before, entry: await writeBlueprint(tx, input, before) };
}

/** Changes the given fields. Throws `not_found`, `conflict`, `validation_failed`. */
export async function patchBlueprint(
  tx: Transaction,
  key: string,
  changes: Partial<BlueprintInput>,
  options: BlueprintOptions,
): Promise<Blueprint> {
  const before = await lockBlueprint(tx, key, options);
  if (!before) throw new ServiceError('not_found');
  const fields = { ...pickFields(BlueprintInput, before), retiredAt: null };
  return writeBlueprint(tx, { ...fields, ...changes, key }, before);
}

/** Deletes it. Throws `not_found`. */
export async function deleteBlueprint(
  tx: Transaction,
  key: string,
  options: BlueprintOptions,
): Promise<string> {
  const before = await lockBlueprint(tx, key, options);
  if (!before) throw new ServiceError('not_found');
  await sql`delete from blueprints where id = ${before.id}`.execute(tx);
  return before.id;
}

/** Reads the blueprint and locks it until the transaction ends. */
async function lockBlueprint(
  tx: Transaction,
  key: string,
  { check }: BlueprintOptions,
): Promise<Blueprint | null> {
  await lockDirectory(tx, 'blueprints');
  await sql`select from blueprints where key = ${key} for update`.execute(tx);
  const before = await findBlueprint(tx, key);
  check(before);
  return before;
}

async function writeBlueprint(
  tx: Transaction,
  input: BlueprintInput,
  before: Blueprint | null,
): Promise<Blueprint> {
  if (input.active && input.retiredAt !== null)
    throw invalid({ path: 'body.retiredAt', message: 'goes only with active: false' });
  const slug = await chooseSlug(tx, input, before);
  await upsertBlueprints(tx, [{ ...input, slug }]);
  const entry = await findBlueprint(tx, input.key);
  if (!entry) throw new Error('the blueprint that was written is not there');
  return entry;
}

async function chooseSlug(
  tx: Transaction,
  { slug, name }: BlueprintInput,
  before: Blueprint | null,
): Promise<string> {
  if (slug !== null && slug !== before?.slug)
    await requireFreeSlug(tx, 'blueprints', slug, before?.id ?? null);
  const chosen = slug ?? before?.slug;
  if (chosen !== undefined) return chosen;
  const [made] = await (await SlugAllocator.start(tx, 'blueprints')).allocate([name]);
  if (made === undefined) throw new Error('no slug was made');
  return made;
}

/** Gives an entry another slug. Throws as `requireFreeSlug` does. */
async function rename(tx: Transaction, table: SlugTable, id: string, slug: string): Promise<void> {
  await requireFreeSlug(tx, table, slug, id);
  await sql`delete from former_slugs where not ${isReserved}`.execute(tx);
  await sql`update ${sql.table(table)} set slug = ${slug} where id = ${id}`.execute(tx);
}

/**
 * Throws `conflict` if another entry than `ownId` (null: a new one) has `slug`, which is at `path` of the request, or had it
 * recently. Call it under the lock of its table.
 */
async function requireFreeSlug(
  tx: Transaction,
  table: SlugTable,
  slug: string,
  ownId: string | null,
  path = 'body.slug',
): Promise<void> {
  if (!isAllowedSlug(slug)) throw invalid({ path, message: `${slug} is reserved` });
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(table)} where slug = ${slug} and id is distinct from ${ownId}::uuid
  `.execute(tx);
  if (rows.length > 0) throw new ServiceError('conflict', `The slug ${slug} is taken.`);
  const reservation = (await reservedSlugs(tx, table, [slug])).get(slug);
  if (!reservation || reservation.entryId === ownId) return;
  throw new ServiceError('conflict', `The ${describeReservation(slug, reservation)}.`, {
    details: { freeAt: reservation.freeAt },
  });
}

/** Picks the fields of an entry that its input schema has. */
function pickFields<Input extends TObject>(input: Input, entry: Static<Input>): Static<Input> {
  const fields = Object.entries(entry as object).filter(([name]) => name in input.properties);
  return Object.fromEntries(fields) as Static<Input>;
}

/** The options of a write of one entry. */
export type WriteOptions<Entry> = {
  actor: Actor;
  /** The base of addresses in events and in the returned entry. */
  publicUrl: string;
  /** Called under the row's lock with the current entry, or null. Throws if the caller saw another version. */
  check: (current: Entry | null) => void;
  /** Keeps a name that the write changes as an alias. */
  keepName?: boolean;
};
export type Written<Entry> = { created: boolean; entry: Entry };

export type EntryKind = 'organization' | 'alliance' | 'blueprint';
type Values = Record<string, unknown>;

/** Of a value: the log is no copy of the directory. */
const valueCharsMax = 500;
/** They follow from others, or have entries of their own. */
const leftOut = new Set(['id', 'url', 'createdAt', 'updatedAt', 'managers']);

/**
 * Writes what an operator changes in an entry to the audit log, with the values before and after; of private fields and of what
 * is deleted without them, because the log keeps everything. What the platform writes is not there: it may be a million entries
 * a day.
 */
export async function auditEntry(
  tx: Transaction,
  actor: Actor,
  kind: EntryKind,
  { before, after }: { before: object | null; after: object | null },
): Promise<void> {
  if (actor.kind !== 'operator') return;
  const [old, now] = [(before ?? {}) as Values, (after ?? {}) as Values];
  const changed = Object.keys({ ...old, ...now }).filter(
    (name) => !leftOut.has(name) && !isDeepStrictEqual(old[name], now[name]),
  );
  if (changed.length === 0) return;
  const one = after === null ? old : now;
  const isPrivate = (name: string) => name in privateOrgFields;
  const changes = changed
    .filter((name) => !isPrivate(name))
    .map((name) => [name, [shown(old[name]), shown(now[name])]]);
  await recordAudit(tx, actor, {
    action: before === null ? 'entry.created' : after === null ? 'entry.deleted' : 'entry.changed',
    subject: { kind, id: String(one['id']) },
    appId: null,
    details: {
      slug: one['slug'],
      name: one['name'],
      ...(after && {
        changes: Object.fromEntries(changes) as Values,
        private: changed.filter(isPrivate),
      }),
    },
  });
}

function shown(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return cutText(typeof value === 'string' ? value : JSON.stringify(value), valueCharsMax);
}
