/** Routes that write one organisation, alliance or blueprint: `PUT`, `PATCH` and `DELETE`, all of the same form. */
import { Type, type TObject, type TSchema } from 'typebox';
import type { FastifyRequest } from 'fastify';
import { slugReservedDays } from '../../contract/periods.ts';
import { examples } from '../../contract/examples.ts';
import { slug, strictObject, deleted } from '../../contract/shapes.ts';
import { AllianceInput, BlueprintInput, OrgInput } from '../../directory/inputs.ts';
import { Blueprint } from '../../contract/blueprint.ts';
import { envelope } from '../../contract/envelope.ts';
import { ManagedAllianceDetail, ManagedOrganisation } from '../../contract/managed.ts';
import type { Transaction } from '../../database/database.ts';
import {
  auditEntry,
  type EntryKind,
  type WriteOptions,
  type Written,
  deleteAlliance,
  deleteOrg,
  patchAlliance,
  patchOrg,
  putAlliance,
  putOrg,
  type AllianceFields,
  deleteBlueprint,
  patchBlueprint,
  putBlueprint,
} from '../../directory/write-entry.ts';
import { invalid } from '../../errors.ts';
import { oneOf } from '../responses/responses.ts';
import { preconditionOf } from './precondition.ts';
import {
  allianceParams,
  blueprintParams,
  operation,
  orgParams,
  type InternalContext,
} from './surface.ts';

/** Larger alliances set their members through the organisations. */
const membersMax = 5_000;
const orgs = Type.Optional(
  Type.Array(slug(), {
    maxItems: membersMax,
    uniqueItems: true,
    description:
      'The slugs of all members. A member of another alliance leaves it. If omitted, the members stay the same.',
  }),
);
const allianceFields = { ...AllianceInput.properties, orgs };

/** The body may repeat the slug or key of the URL, as the lines of an export do. */
const same = (schema: TSchema, description: string) =>
  Type.Optional(Type.Unsafe({ ...schema, description }));
const sameSlug = same(slug(), 'Must be the slug in the URL. Use `PATCH` to rename.');

/** Complete bodies for PUT; those for PATCH are partial. */
const OrgBody = strictObject(
  { ...OrgInput.properties, slug: sameSlug },
  {
    title: 'OrganisationInput',
    description: 'A complete organisation. Omitted fields get their defaults.',
    examples: [examples.orgInput],
  },
);
const AllianceBody = strictObject(
  { ...allianceFields, slug: sameSlug },
  {
    title: 'AllianceInput',
    description: 'A complete alliance. Omitted fields get their defaults.',
    examples: [examples.allianceInput],
  },
);
const BlueprintBody = strictObject(
  {
    ...BlueprintInput.properties,
    key: same(BlueprintInput.properties.key, 'Must be the key in the URL.'),
  },
  {
    title: 'BlueprintInput',
    description: 'A complete blueprint. Omitted fields get their defaults.',
    examples: [examples.blueprintInput],
  },
);

const newSlug = slug({
  description: `The new slug. The old one stays reserved for ${slugReservedDays} days.`,
});

/** Omitted links stay the same, too. */
const linkChanges = strictObject(
  Object.fromEntries(
    Object.entries(OrgInput.properties.links.properties).map(([name, schema]) => [
      name,
      Type.Optional(withoutDefault(schema)),
    ]),
  ),
  { description: 'Links to other sites. Omitted links stay the same.' },
);

const OrgChanges = partial(OrgInput.properties, {
  title: 'OrganisationChanges',
  description: 'The fields to change. Omitted fields stay the same.',
  examples: [{ memberCount: 43 }],
});
const AllianceChanges = partial(allianceFields, {
  title: 'AllianceChanges',
  description: 'The fields to change. Omitted fields stay the same.',
  examples: [{ recruiting: false }],
});
const { key: _, ...changeable } = BlueprintInput.properties;
const BlueprintChanges = partial(changeable, {
  title: 'BlueprintChanges',
  description: 'The fields to change. Omitted fields stay the same. The key cannot change.',
  examples: [{ active: false }],
});

/** For PATCH: all fields are optional and have no defaults, and at least one is required. */
function partial(fields: Record<string, TSchema>, options: object): TObject {
  const properties = Object.entries(fields).map(([name, schema]) => [name, asChange(name, schema)]);
  return strictObject(Object.fromEntries(properties) as Record<string, TSchema>, {
    ...options,
    minProperties: 1,
  });
}

function asChange(name: string, schema: TSchema): TSchema {
  if (name === 'slug') return Type.Optional(newSlug);
  return Type.Optional(name === 'links' ? linkChanges : withoutDefault(schema));
}

function withoutDefault(schema: TSchema): TSchema {
  const { default: __, ...rest } = schema as Record<string, unknown>;
  return Type.Unsafe(rest);
}

const Deleted = deleted('The id of the deleted entry.', {
  title: 'Deleted',
  description: 'Confirms that the entry was deleted.',
});

const NameQuery = strictObject({
  keepName: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Whether a name that changes stays as one of the aliases.',
    }),
  ),
});

export const orgWrites = writeOperations({
  path: '/orgs/:slug',
  noun: 'Org',
  kind: 'organization',
  one: 'an organisation',
  params: orgParams,
  body: OrgBody,
  changes: OrgChanges,
  query: NameQuery,
  response: oneOf(ManagedOrganisation, 'OrganisationResponse', examples.managedOrganisation),
  onCreate: 'The event `org.created` is sent when the organisation is listed for the first time.',
  onDelete: 'Its managers and the bindings of apps to it are removed.',
  put: (tx, name, body, options) => putOrg(tx, name, body as OrgInput, options),
  patch: (tx, name, body, options) => patchOrg(tx, name, body as Partial<OrgInput>, options),
  remove: deleteOrg,
});

export const allianceWrites = writeOperations({
  path: '/alliances/:slug',
  noun: 'Alliance',
  kind: 'alliance',
  one: 'an alliance',
  params: allianceParams,
  body: AllianceBody,
  changes: AllianceChanges,
  query: NameQuery,
  response: oneOf(ManagedAllianceDetail, 'AllianceResponse', examples.managedAllianceDetail),
  onCreate: 'The event `alliance.created` is sent for a new alliance.',
  onDelete: 'Its organisations stay, without an alliance.',
  put: (tx, name, body, options) => putAlliance(tx, name, body as AllianceInput, options),
  patch: (tx, name, body, options) =>
    patchAlliance(tx, name, body as Partial<AllianceFields>, options),
  remove: deleteAlliance,
});

export const blueprintWrites = writeOperations({
  path: '/blueprints/:key',
  noun: 'Blueprint',
  kind: 'blueprint',
  one: 'a blueprint',
  params: blueprintParams,
  body: BlueprintBody,
  changes: BlueprintChanges,
  response: oneOf(Blueprint, 'BlueprintResponse', examples.blueprint),
  onCreate: 'Without a `slug`, one is created from the name.',
  onDelete: 'To retire a blueprint instead, set `active` to false.',
  put: (tx, key, body, options) => putBlueprint(tx, { ...(body as BlueprintInput), key }, options),
  patch: (tx, key, body, options) =>
    patchBlueprint(tx, key, body as Partial<BlueprintInput>, options),
  remove: deleteBlueprint,
});

type Noun<Entry extends object> = {
  /** Whether it has aliases. */
  query?: typeof NameQuery;
  path: `/${string}/:${'slug' | 'key'}`;
  noun: string;
  kind: EntryKind;
  /** With its article. */
  one: string;
  params: TObject;
  body: TObject;
  changes: TObject;
  response: ReturnType<typeof oneOf>;
  onCreate: string;
  onDelete: string;
  /** `name` is the slug or the key in the URL; the body is valid. */
  put: Write<Entry, Written<Entry>>;
  patch: Write<Entry, Entry>;
  /** Returns the id. */
  remove: (tx: Transaction, name: string, options: WriteOptions<Entry>) => Promise<string>;
};
type Write<Entry extends object, Result> = (
  tx: Transaction,
  name: string,
  body: unknown,
  options: WriteOptions<Entry>,
) => Promise<Result>;

function writeOperations<Entry extends object>(noun: Noun<Entry>) {
  return [putOperation(noun), patchOperation(noun), deleteOperation(noun)];
}

function putOperation<Entry extends object>(noun: Noun<Entry>) {
  return operation({
    operationId: `put${noun.noun}`,
    method: 'PUT',
    path: noun.path,
    params: noun.params,
    summary: `Create or replace ${noun.one}`,
    description: `Omitted fields get their defaults. ${noun.onCreate} Send \`If-None-Match: *\` to only create, or \`If-Match\` to only replace the version that you have read.`,
    ...(noun.query && { query: noun.query }),
    body: noun.body,
    returns: { 200: 'The entry was replaced.', 201: 'The entry was created.' },
    response: noun.response,
    errors: ['conflict', 'precondition_failed'],
    tagged: true,
    async run(context) {
      requireSameName(context.request);
      let isNew = false;
      const entry = await inTransaction(context, noun.kind, async (...given) => {
        const written = await noun.put(...given);
        isNew = written.created;
        return written.entry;
      });
      context.reply.code(isNew ? 201 : 200);
      return envelope(entry);
    },
  });
}

function patchOperation<Entry extends object>(noun: Noun<Entry>) {
  return operation({
    operationId: `patch${noun.noun}`,
    method: 'PATCH',
    path: noun.path,
    params: noun.params,
    summary: `Update ${noun.one}`,
    description: `Changes only the given fields, also within \`links\`. A new \`slug\` renames: the old one then returns 404 and stays reserved for ${slugReservedDays} days.`,
    ...(noun.query && { query: noun.query }),
    body: noun.changes,
    returns: { 200: 'The updated entry.' },
    response: noun.response,
    errors: ['conflict', 'precondition_failed'],
    tagged: true,
    run: async (context) => envelope(await inTransaction(context, noun.kind, noun.patch)),
  });
}

function deleteOperation<Entry extends object>(noun: Noun<Entry>) {
  return operation({
    operationId: `delete${noun.noun}`,
    method: 'DELETE',
    path: noun.path,
    params: noun.params,
    summary: `Delete ${noun.one}`,
    description: noun.onDelete,
    returns: { 200: 'The entry was deleted.' },
    response: oneOf(Deleted, 'DeletedResponse', { id: examples.organisation.id, deleted: true }),
    errors: ['precondition_failed'],
    async run(context) {
      let id = '';
      await inTransaction<Entry>(context, noun.kind, async (tx, name, _body, options) => {
        id = await noun.remove(tx, name, options);
        return null;
      });
      return envelope({ id, deleted: true });
    },
  });
}

/** `write` returns the entry after it, null if that is gone. */
function inTransaction<Entry extends object>(
  { change, actor, publicUrl, request }: InternalContext & { request: FastifyRequest },
  kind: EntryKind,
  write: Write<Entry, Entry | null>,
): Promise<Entry | null> {
  const { keepName = false } = request.query as { keepName?: boolean };
  const precondition = preconditionOf(request);
  let before: Entry | null = null;
  const check = (current: Entry | null) => precondition((before = current));
  const options = { actor, publicUrl, check, keepName };
  return change(async (tx) => {
    const after = await write(tx, nameOf(request), request.body, options);
    await auditEntry(tx, actor, kind, { before, after });
    return after;
  });
}

/** Returns the slug or key in the URL, its only parameter. */
function nameOf({ params }: FastifyRequest): string {
  return Object.values(params as Record<string, string>)[0] ?? '';
}

/** The body may repeat the slug or key of the URL, but not contradict it. */
function requireSameName(request: FastifyRequest): void {
  const [[field, name] = ['', '']] = Object.entries(request.params as Record<string, string>);
  const given = (request.body as Record<string, unknown>)[field];
  if (given !== undefined && given !== name)
    throw invalid({ path: `body.${field}`, message: `must be ${name}, as in the address` });
}
