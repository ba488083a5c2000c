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
    answer: oneOf(ManagedOrganisation, 'OrganisationResponse', examples.managedOrganisation),
    onCreate: 'A listed one is announced by `org.created`, once for all time.',
    onDelete: 'Its managers and the bindings of apps to it end with it.',
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
    answer: oneOf(ManagedAllianceDetail, 'AllianceResponse', examples.managedAllianceDetail),
    onCreate: 'A new one is announced by `alliance.created`.',
    onDelete: 'Its organisations stay, in no alliance.',
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
    answer: oneOf(Blueprint, 'BlueprintResponse', examples.blueprint),
    onCreate: 'Without a `slug` it gets one made from its name.',
    onDelete: 'To retire it instead, set `active` to false.',
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
  answer: ReturnType<typeof oneOf>;
  onCreate: string;
  onDelete: string;
};
type Noun<Entry extends object> = Documented & {
  /** `name` is the slug or the key in the address; the body is valid. */
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

/** Returns the slug or key in the address, its only parameter. */
function nameOf({ params }: FastifyRequest): string {
  return Object.values(params as Record<string, string>)[0] ?? '';
}

/** The body may repeat the slug or key of the address, but not contradict it. */
function requireSameName(request: FastifyRequest): void {
  const [[field, name] = ['', '']] = Object.entries(request.params as Record<string, string>);
  const given = (request.body as Record<string, unknown>)[field];
  if (given !== undefined && given !== name)
    throw invalid({ path: `body.${field}`, message: `must be ${name}, as in the address` });
}

function putSchema({ noun, tag, one, params, body, answer, onCreate }: Documented) {
  const errors: ErrorCode[] = [
    ...internalErrors.keyedResourceBody,
    'conflict',
    'precondition_failed',
  ];
  return {
    operationId: `put${noun}`,
    tags: [tag],
    summary: `Make ${one}, or replace it`,
    description: `A field left out goes back to its default. ${onCreate} With \`If-None-Match: *\` it only makes, with \`If-Match\` it only replaces what you have read.`,
    security,
    params,
    body,
    querystring: noQuery,
    response: {
      ...internalResponses(201, 'It was made.', answer, errors, { tagged: true }),
      ...internalResponses(200, 'It was replaced.', answer, errors, { tagged: true }),
    },
  };
}

function patchSchema({ noun, tag, one, params, changes, answer }: Documented) {
  return {
    operationId: `patch${noun}`,
    tags: [tag],
    summary: `Change ${one}`,
    description:
      'Changes the fields given, of `links` too; the others stay. A new `slug` renames: the old one answers 404 from then on, and nobody else is given it for 30 days.',
    security,
    params,
    body: changes,
    querystring: noQuery,
    response: internalResponses(
      200,
      'As it is now.',
      answer,
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
      'It is deleted.',
      oneOf(Deleted, 'DeletedResponse', { id: examples.organisation.id, deleted: true }),
      [...internalErrors.keyedResourceBody, 'precondition_failed'],
    ),
  };
}

const Deleted = deleted('Of what was.', {
  title: 'Deleted',
  description: 'Says that something is gone.',
});
