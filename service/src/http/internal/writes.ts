/** Routes that write one organisation, alliance or blueprint: `PUT`, `PATCH` and `DELETE`, all of the same form. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Static, TObject } from 'typebox';
import { Blueprint } from '../../contract/blueprint.ts';
import { envelope } from '../../contract/envelope.ts';
import { examples } from '../../contract/examples.ts';
import { ManagedAllianceDetail, ManagedOrganisation } from '../../contract/managed.ts';
import { deleted } from '../../contract/shapes.ts';
import type { Transaction } from '../../database/database.ts';
import type { AllianceInput, BlueprintInput, OrgInput } from '../../directory/inputs.ts';
import {
  deleteAlliance,
  patchAlliance,
  putAlliance,
  type AllianceFields,
} from '../../directory/write-alliance.ts';
import { deleteBlueprint, patchBlueprint, putBlueprint } from '../../directory/write-blueprint.ts';
import type { WriteOptions, Written } from '../../directory/write-options.ts';
import { deleteOrg, patchOrg, putOrg } from '../../directory/write-org.ts';
import { invalid, type ErrorCode } from '../../errors.ts';
import { oneOf } from '../responses.ts';
import { actorOf } from './authenticate.ts';
import {
  AllianceBody,
  AllianceChanges,
  BlueprintBody,
  BlueprintChanges,
  OrgBody,
  OrgChanges,
} from './bodies.ts';
import { preconditionOf } from './precondition.ts';
import {
  allianceParams,
  blueprintParams,
  config,
  internalErrors,
  internalResponses,
  noQuery,
  orgParams,
  security,
  type RouteDependencies,
} from './route.ts';
import { sendWritten } from './send-written.ts';

export function registerWrites(v1: FastifyInstance, dependencies: RouteDependencies): void {
  writeRoutes(v1, dependencies, {
    url: '/orgs/:slug',
    noun: 'Org',
    tag: 'Organisations',
    one: 'an organisation',
    params: orgParams,
    body: OrgBody,
    changes: OrgChanges,
    response: oneOf(ManagedOrganisation, 'OrganisationResponse', examples.managedOrganisation),
    onCreate: 'The event `org.created` is sent when the organisation is listed for the first time.',
    onDelete: 'Its managers and the bindings of apps to it are removed.',
    put: (tx, slug, body, options) => putOrg(tx, slug, body as OrgInput, options),
    patch: (tx, slug, body, options) => patchOrg(tx, slug, body as Partial<OrgInput>, options),
    remove: deleteOrg,
  });
  writeRoutes(v1, dependencies, {
    url: '/alliances/:slug',
    noun: 'Alliance',
    tag: 'Alliances',
    one: 'an alliance',
    params: allianceParams,
    body: AllianceBody,
    changes: AllianceChanges,
    response: oneOf(ManagedAllianceDetail, 'AllianceResponse', examples.managedAllianceDetail),
    onCreate: 'The event `alliance.created` is sent for a new alliance.',
    onDelete: 'Its organisations stay, without an alliance.',
    put: (tx, slug, body, options) => putAlliance(tx, slug, body as AllianceInput, options),
    patch: (tx, slug, body, options) =>
      patchAlliance(tx, slug, body as Partial<AllianceFields>, options),
    remove: deleteAlliance,
  });
  writeRoutes(v1, dependencies, {
    url: '/blueprints/:key',
    noun: 'Blueprint',
    tag: 'Blueprints',
    one: 'a blueprint',
    params: blueprintParams,
    body: BlueprintBody,
    changes: BlueprintChanges,
    response: oneOf(Blueprint, 'BlueprintResponse', examples.blueprint),
    onCreate: 'Without a `slug`, one is created from the name.',
    onDelete: 'To retire a blueprint instead, set `active` to false.',
    put: (tx, key, body, options) =>
      putBlueprint(tx, { ...(body as BlueprintInput), key }, options),
    patch: (tx, key, body, options) =>
      patchBlueprint(tx, key, body as Partial<BlueprintInput>, options),
    remove: deleteBlueprint,
  });
}

type Documented = {
  url: string;
  noun: string;
  tag: string;
  /** With its article. */
  one: string;
  params: TObject;
  body: TObject;
  changes: TObject;
  response: ReturnType<typeof oneOf>;
  onCreate: string;
  onDelete: string;
};
type Noun<Entry extends object> = Documented & {
  /** `name` is the slug or the key in the URL; the body is valid. */
  put(
    tx: Transaction,
    name: string,
    body: unknown,
    options: WriteOptions<Entry>,
  ): Promise<Written<Entry>>;
  patch(tx: Transaction, name: string, body: unknown, options: WriteOptions<Entry>): Promise<Entry>;
  /** Returns the id. */
  remove(tx: Transaction, name: string, options: WriteOptions<Entry>): Promise<string>;
};

function writeRoutes<Entry extends object>(
  v1: FastifyInstance,
  { writes, publicUrl }: RouteDependencies,
  noun: Noun<Entry>,
): void {
  const optionsOf = (request: FastifyRequest): WriteOptions<Entry> => ({
    actor: actorOf(request),
    publicUrl,
    check: preconditionOf(request),
  });
  const inTransaction = <T>(run: (tx: Transaction) => Promise<T>) =>
    writes.transaction().execute(run);

  v1.put(noun.url, { config, schema: putSchema(noun) }, async (request, reply) => {
    requireSameName(request);
    const { created, entry } = await inTransaction((tx) =>
      noun.put(tx, nameOf(request), request.body, optionsOf(request)),
    );
    return sendWritten(reply.code(created ? 201 : 200), entry);
  });

  v1.patch(noun.url, { config, schema: patchSchema(noun) }, async (request, reply) => {
    const entry = await inTransaction((tx) =>
      noun.patch(tx, nameOf(request), request.body, optionsOf(request)),
    );
    return sendWritten(reply, entry);
  });

  v1.delete(noun.url, { config, schema: deleteSchema(noun) }, async (request, reply) => {
    const id = await inTransaction((tx) => noun.remove(tx, nameOf(request), optionsOf(request)));
    const data: Static<typeof Deleted> = { id, deleted: true };
    return reply.send(envelope(data));
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

function putSchema({ noun, tag, one, params, body, response, onCreate }: Documented) {
  const errors: ErrorCode[] = [
    ...internalErrors.keyedResourceBody,
    'conflict',
    'precondition_failed',
  ];
  return {
    operationId: `put${noun}`,
    tags: [tag],
    summary: `Create or replace ${one}`,
    description: `Omitted fields get their defaults. ${onCreate} Send \`If-None-Match: *\` to only create, or \`If-Match\` to only replace the version that you have read.`,
    security,
    params,
    body,
    querystring: noQuery,
    response: {
      ...internalResponses(201, 'The entry was created.', response, errors, { tagged: true }),
      ...internalResponses(200, 'The entry was replaced.', response, errors, { tagged: true }),
    },
  };
}

function patchSchema({ noun, tag, one, params, changes, response }: Documented) {
  return {
    operationId: `patch${noun}`,
    tags: [tag],
    summary: `Update ${one}`,
    description:
      'Changes only the given fields, also within `links`. A new `slug` renames: the old one then returns 404 and stays reserved for 30 days.',
    security,
    params,
    body: changes,
    querystring: noQuery,
    response: internalResponses(
      200,
      'The updated entry.',
      response,
      [...internalErrors.keyedResourceBody, 'conflict', 'precondition_failed'],
      { tagged: true },
    ),
  };
}

function deleteSchema({ noun, tag, one, params, onDelete }: Documented) {
  return {
    operationId: `delete${noun}`,
    tags: [tag],
    summary: `Delete ${one}`,
    description: onDelete,
    security,
    params,
    querystring: noQuery,
    response: internalResponses(
      200,
      'The entry was deleted.',
      oneOf(Deleted, 'DeletedResponse', { id: examples.organisation.id, deleted: true }),
      [...internalErrors.keyedResourceBody, 'precondition_failed'],
    ),
  };
}

const Deleted = deleted('The id of the deleted entry.', {
  title: 'Deleted',
  description: 'Confirms that the entry was deleted.',
});
