/** Routes that manage the keys of the user's apps. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { listAppKeys, readAppKey } from '../../access/app-keys.ts';
import { createKey, revokeKey, type ApiKey } from '../../access/keys.ts';
import { requireAppKey, requireOwnApp } from '../../access/owned.ts';
import {
  keyOverlapSecondsDefault,
  keyOverlapSecondsMax,
  rotateKey,
} from '../../access/rotate-key.ts';
import { exampleId, exampleLaterTime, exampleTime } from '../../contract/examples.ts';
import { envelope, pageEnvelope } from '../../contract/envelope.ts';
import { CreatedKey, name, PortalKey, RotatedKey } from '../../contract/portal.ts';
import { nullable, strictObject, time } from '../../contract/shapes.ts';
import { PageQuery } from '../../directory/list-query.ts';
import type { Executor } from '../../database/database.ts';
import { invalid } from '../../errors.ts';
import { listOf, oneOf } from '../responses.ts';
import { withEmptyBody } from '../json-bodies.ts';
import { actorOf, ownerOf } from './authenticate.ts';
import {
  appParams,
  config,
  keyParams,
  noQuery,
  portalErrors,
  portalResponses,
  security,
  type PortalRouteDependencies,
} from './route.ts';

const common = { tags: ['Keys'], security };
const NewKey = strictObject(
  {
    name: name('What to call it.', 'On the server'),
    scopes: Type.Array(PortalKey.properties.scopes.items, {
      minItems: 1,
      uniqueItems: true,
      description: 'What it may do.',
    }),
    expiresAt: Type.Optional(
      nullable(time({ description: 'When it is to end by itself; null: never.' })),
    ),
  },
  {
    title: 'NewKey',
    description: 'A key to make.',
    examples: [{ name: 'On the server', scopes: ['read:directory'], expiresAt: null }],
  },
);
const RotateKeyRequest = strictObject(
  {
    overlapSeconds: Type.Integer({
      minimum: 0,
      maximum: keyOverlapSecondsMax,
      default: keyOverlapSecondsDefault,
      description: 'How long the old key stays valid.',
    }),
  },
  {
    title: 'RotateKeyRequest',
    description: 'How to change over.',
    examples: [{ overlapSeconds: 3600 }],
  },
);
const example: PortalKey = {
  id: exampleId,
  name: 'On the server',
  last4: '0000',
  scopes: ['read:directory'],
  expiresAt: null,
  revokedAt: null,
  lastUsedAt: exampleTime,
  createdAt: exampleTime,
};
const created = { ...example, lastUsedAt: null, key: `odk_${'0'.repeat(38)}` };

export function registerKeys(portal: FastifyInstance, { database }: PortalRouteDependencies): void {
  const routes = portal.withTypeProvider<TypeBoxTypeProvider>();

  routes.get(
    '/apps/:appId/keys',
    {
      config,
      schema: {
        ...common,
        operationId: 'listKeys',
        summary: 'List the keys of an app',
        description: 'The newest first, those that have ended too.',
        params: appParams,
        querystring: PageQuery,
        response: portalResponses(
          200,
          'Its keys.',
          listOf(PortalKey, 'PortalKeyList', example),
          portalErrors.readOne,
        ),
      },
    },
    async (request, reply) => {
      const { id } = await requireOwnApp(database, ownerOf(request), request.params.appId);
      const { total, keys } = await listAppKeys(database, id, request.query);
      return reply.send(pageEnvelope(keys.map(toPortalKey), request.query, total));
    },
  );

  routes.post(
    '/apps/:appId/keys',
    {
      config,
      schema: {
        ...common,
        operationId: 'createKey',
        summary: 'Make a key',
        description: 'Answers with the key, this once. An app has at most 20 that are valid.',
        params: appParams,
        body: NewKey,
        querystring: noQuery,
        response: portalResponses(
          201,
          'The new key.',
          oneOf(CreatedKey, 'CreatedKeyResponse', created),
          [...portalErrors.withBodyOne, 'conflict'],
        ),
      },
    },
    async (request, reply) => {
      const { appId } = request.params;
      const { expiresAt = null, ...input } = request.body;
      const data = await database.transaction().execute(async (tx) => {
        await requireOwnApp(tx, ownerOf(request), appId);
        const ends = requireFuture(expiresAt);
        const made = await createKey(tx, actorOf(request), { appId, ...input, expiresAt: ends });
        return { ...(await readKey(tx, appId, made.id)), key: made.key };
      });
      return reply.code(201).send(envelope(data));
    },
  );

  routes.delete(
    '/apps/:appId/keys/:keyId',
    {
      config,
      schema: {
        ...common,
        operationId: 'revokeKey',
        summary: 'Revoke a key',
        description: 'For good, within a second. One that is revoked already stays so.',
        params: keyParams,
        querystring: noQuery,
        response: portalResponses(
          200,
          'The key as it is now.',
          oneOf(PortalKey, 'PortalKeyResponse', { ...example, revokedAt: exampleTime }),
          portalErrors.withBodyOne,
        ),
      },
    },
    async (request, reply) => {
      const { appId, keyId } = request.params;
      const data = await database.transaction().execute(async (tx) => {
        await requireOwnApp(tx, ownerOf(request), appId);
        await requireAppKey(tx, appId, keyId);
        await revokeKey(tx, actorOf(request), keyId);
        return readKey(tx, appId, keyId);
      });
      return reply.send(envelope(data));
    },
  );

  routes.post(
    '/apps/:appId/keys/:keyId/rotate',
    {
      config,
      preValidation: withEmptyBody,
      schema: {
        ...common,
        operationId: 'rotateKey',
        summary: 'Put a new key in the place of one',
        description:
          'Answers with the new key, this once. It has the same name, scopes and end; the old one ends when the two have overlapped.',
        params: keyParams,
        body: RotateKeyRequest,
        querystring: noQuery,
        response: portalResponses(
          201,
          'The new key.',
          oneOf(RotatedKey, 'RotatedKeyResponse', {
            ...created,
            previous: { id: exampleId, endsAt: exampleLaterTime },
          }),
          [...portalErrors.withBodyOne, 'conflict'],
        ),
      },
    },
    async (request, reply) => {
      const { appId, keyId } = request.params;
      const { overlapSeconds } = request.body;
      const data = await database.transaction().execute(async (tx) => {
        await requireOwnApp(tx, ownerOf(request), appId);
        await requireAppKey(tx, appId, keyId);
        const made = await rotateKey(tx, actorOf(request), keyId, overlapSeconds);
        const previous = { id: keyId, endsAt: made.oldEndsAt.toISOString() };
        return { ...(await readKey(tx, appId, made.id)), key: made.key, previous };
      });
      return reply.code(201).send(envelope(data));
    },
  );
}

async function readKey(executor: Executor, appId: string, id: string): Promise<PortalKey> {
  return toPortalKey(await readAppKey(executor, appId, id));
}

function requireFuture(text: string | null): Date | null {
  if (text === null) return null;
  const ends = new Date(text);
  if (ends.getTime() > Date.now()) return ends;
  throw invalid({ path: 'body.expiresAt', message: 'must be a time in the future' });
}

function toPortalKey(key: ApiKey): PortalKey {
  return {
    id: key.id,
    name: key.name,
    last4: key.last4,
    scopes: key.scopes as PortalKey['scopes'],
    expiresAt: key.expiresAt?.toISOString() ?? null,
    revokedAt: key.revokedAt?.toISOString() ?? null,
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
    createdAt: key.createdAt.toISOString(),
  };
}
