/** Random edits of the directory, applied to the model and, by the functions of the internal API, to the database. */
import fc from 'fast-check';
import { aliasesMax } from '../../src/contract/shared-fields.ts';
import { sql, type Database, type Transaction } from '../../src/database/database.ts';
import {
  deleteAlliance,
  deleteOrg,
  patchAlliance,
  patchOrg,
  deleteBlueprint,
  patchBlueprint,
} from '../../src/directory/write-entry.ts';
import { testActor } from '../support/actor.ts';
import { putIn } from '../support/directory.ts';
import { testPublicUrl } from '../support/service.ts';
import {
  kinds,
  type DirectoryModel,
  type Fields,
  type Kind,
  type Stored,
} from './directory-model.ts';

/** How many entries of each kind there are at most. */
export const sizes = { orgs: 10, alliances: 3, blueprints: 4 };

export const words = ['nokia', 'siemens', 'red', 'fox', 'limited', 'ut', 'king', 'löwe', 'zebra'];
export const activities = ['trading', 'mining'];
export const languages = ['en', 'pt-BR'];
export const tags = ['NK', 'Löwe', 'zebra'];
export const locations = ['Köln', 'Berlin'];
export const categories = ['materials', 'tools'];
/** A word that no public entry has. */
export const privateWord = 'sentinel';

const name = fc
  .array(fc.constantFrom(...words), { minLength: 1, maxLength: 2 })
  .map((some) => some.join(' '));
const orNull = <Value>(values: Value[]) => fc.constantFrom(...values, null);
const memberCount = fc.constantFrom(0, 1, 7, 300);
const named = {
  name,
  tag: orNull(tags),
  aliases: fc.uniqueArray(fc.constantFrom('Nokia', 'UT-King', 'Red Fox'), { maxLength: 2 }),
  // Unlike the other texts, so that it is always the last line of the text to search.
  description: fc.option(name.map((text) => `about ${text}`)),
  recruiting: fc.boolean(),
};
/** An alliance is its key, so that a reference to it outlives a rename. */
const orgFields = fc.record({
  ...named,
  primaryActivity: orNull(activities),
  secondaryActivity: orNull(['salvage']),
  language: orNull(languages),
  location: orNull(locations),
  memberCount,
  alliance: fc.option(fc.nat(sizes.alliances - 1)),
  verified: fc.boolean(),
  status: fc.constantFrom('active', 'closed'),
  listed: fc.boolean(),
  notes: orNull([`${privateWord} notes`]),
  contactEmail: orNull([`${privateWord}@example.org`]),
  chatServerId: orNull([`${privateWord}-chat`]),
});
const alliance = fc.record({ ...named, status: fc.constantFrom('active', 'disbanded') });
const item = fc
  .constantFrom('granite', 'diorite')
  .map((key) => ({ item: key, name: `Polished ${key}`, quantity: 1 }));
const ingredient = item.map((each) => Object.assign(each, { unit: null }));
const blueprint = fc.record({
  name,
  category: fc.constantFrom(...categories),
  output: item,
  ingredients: fc.array(ingredient, { maxLength: 1 }),
  version: orNull(['1.21.4']),
  active: fc.boolean(),
});
const fieldsOf: Record<Kind, fc.Arbitrary<Fields>> = {
  orgs: orgFields,
  alliances: alliance,
  blueprints: blueprint,
};

type Edit = { kind: Kind; key: number } & (
  | { what: 'put'; fields: Fields }
  | { what: 'patch'; fields: Partial<Fields> }
  | { what: 'rename'; name: string }
  | { what: 'move' | 'delete' }
);

function editOf(kind: Kind): fc.Arbitrary<Edit> {
  const at = { kind: fc.constant(kind), key: fc.nat(sizes[kind] - 1) };
  const some = fieldsOf[kind].chain((fields) =>
    fc
      .subarray(Object.keys(fields), { minLength: 1, maxLength: 2 })
      .map((names) => Object.fromEntries(names.map((each) => [each, fields[each]]))),
  );
  const whole = fc.record({ ...at, what: fc.constant('put' as const), fields: fieldsOf[kind] });
  const part = fc.record({ ...at, what: fc.constant('patch' as const), fields: some });
  return fc.oneof(
    { weight: 6, arbitrary: whole },
    { weight: 6, arbitrary: part },
    { weight: 1, arbitrary: fc.record({ ...at, what: fc.constant('rename' as const), name }) },
    { weight: 1, arbitrary: fc.record({ ...at, what: fc.constantFrom('move', 'delete') }) },
  );
}

const listing = fc.record({
  kind: fc.constant('orgs' as const),
  key: fc.nat(sizes.orgs - 1),
  what: fc.constant('patch' as const),
  fields: fc.record({ listed: fc.boolean() }),
});
/** The edits of a transaction. */
export const transaction: fc.Arbitrary<Edit[]> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: editOf('orgs') },
    { weight: 3, arbitrary: listing },
    { weight: 3, arbitrary: editOf('alliances') },
    { weight: 2, arbitrary: editOf('blueprints') },
  ),
  { minLength: 1, maxLength: 4 },
);

/** Performs the edits in one transaction. Those of an entry that does not exist are left out. */
export async function perform(
  database: Database,
  model: DirectoryModel,
  edits: Edit[],
): Promise<void> {
  await database.transaction().execute(async (tx) => {
    for (const edit of edits) {
      await performOne(tx, model, edit);
      model.addStep(await readStored(tx));
    }
  });
  model.commit();
}

const options = { actor: testActor, publicUrl: testPublicUrl, check: () => {} };
/** The addresses of blueprints have their keys, which never change. */
const nameOf = (model: DirectoryModel, kind: Kind, key: number) =>
  kind === 'blueprints' ? `key-${key}` : model.get(kind, key).slug;

const patches = {
  orgs: patchOrg,
  alliances: patchAlliance,
  blueprints: patchBlueprint,
} as Record<
  Kind,
  (tx: Transaction, slug: string, changes: object, options: object) => Promise<unknown>
>;
const deletions = { orgs: deleteOrg, alliances: deleteAlliance, blueprints: deleteBlueprint };

async function performOne(tx: Transaction, model: DirectoryModel, edit: Edit): Promise<void> {
  const { kind, key } = edit;
  const known = model.get(kind, key);
  const address = nameOf(model, kind, key);
  const written = (fields: Partial<Fields>) =>
    'alliance' in fields
      ? { ...fields, alliance: model.slugOfAlliance(fields['alliance']) }
      : fields;
  if (edit.what === 'put') {
    const identity = kind === 'blueprints' ? { key: address } : {};
    await putIn(tx, kind, [{ slug: known.slug, ...identity, ...written(edit.fields) }]);
    known.fields = { ...normalised(model, edit.fields), ...identity };
    return;
  }
  const { fields } = known;
  if (fields === null) return;
  const patch = (changes: object, how = {}) =>
    patches[kind](tx, address, changes, { ...options, ...how });
  if (edit.what === 'patch') {
    await patch(written(edit.fields));
    known.fields = normalised(model, { ...fields, ...edit.fields });
  } else if (edit.what === 'rename' && kind !== 'blueprints') {
    const kept = new Set([...(fields['aliases'] as string[]), fields.name]);
    kept.delete(edit.name);
    if (kept.size > aliasesMax || fields.name === edit.name) return;
    await patch({ name: edit.name }, { keepName: true });
    known.fields = { ...fields, name: edit.name, aliases: [...kept] };
  } else if (edit.what === 'move') {
    const slug = model.newSlug(kind, key);
    await patch({ slug });
    known.slug = slug;
  } else if (edit.what === 'delete') {
    await deletions[kind](tx, address, options);
    known.fields = null;
    if (kind === 'alliances') leaveAlliance(model, key);
  }
}

/** An organisation cannot be in an alliance that does not exist. */
function normalised(model: DirectoryModel, fields: Fields): Fields {
  return 'alliance' in fields && model.slugOfAlliance(fields['alliance']) === null
    ? { ...fields, alliance: null }
    : fields;
}

function leaveAlliance(model: DirectoryModel, key: number): void {
  for (const org of model.known.orgs)
    if (org.fields?.['alliance'] === key) org.fields = { ...org.fields, alliance: null };
}

type StoredRow = {
  id: string;
  slug: string;
  created_at: Date;
  updated_at: Date;
  retired_at: Date | null;
};

async function readStored(tx: Transaction): Promise<Stored> {
  const stored: Stored = { orgs: new Map(), alliances: new Map(), blueprints: new Map() };
  for (const kind of kinds) {
    const isBlueprint = kind === 'blueprints';
    const { rows } = await sql<StoredRow>`
      select id, slug, created_at, updated_at, ${isBlueprint ? sql`retired_at` : sql`null`} as retired_at
      from ${sql.table(kind)}
    `.execute(tx);
    for (const row of rows)
      stored[kind].set(row.slug, {
        id: row.id,
        createdAt: row.created_at.toISOString(),
        updatedAt: row.updated_at.toISOString(),
        ...(isBlueprint && { retiredAt: row.retired_at?.toISOString() ?? null }),
      });
  }
  return stored;
}
