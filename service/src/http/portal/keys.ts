/** The keys of the user's apps. Viewers may list them, developers and owners may change them. */
import { Type } from 'typebox';
import {
  overlapSecondsDefault,
  overlapSecondsMax,
  temporaryKeyMinutes,
} from '../../contract/periods.ts';
import { deriveApiKey } from '../../access/key-format.ts';
import { listAppKeys, readAppKey } from '../../access/list-app-keys.ts';
import { createOnce, type Once } from '../../access/create-once.ts';
import {
  createKey,
  createTemporaryKey,
  revokeKey,
  showKeyAgain,
  type ApiKey,
  temporaryKeysPerAppMax,
} from '../../access/keys.ts';
import { lockWithRole, requireRole } from '../../access/require-role.ts';
import { rotateKey } from '../../access/rotate-key.ts';
import { exampleId, exampleLaterTime, exampleTime } from '../../contract/examples.ts';
import { envelope, pageEnvelope } from '../../contract/envelope.ts';
import { requireTime, withTextTimes } from '../../contract/parse-time.ts';
import { CreatedKey, PortalKey, RotatedKey } from '../../contract/portal.ts';
import { nullable, plainName, strictObject, time } from '../../contract/shapes.ts';
import { PageQuery } from '../../directory/list-query.ts';
import type { Executor, Transaction } from '../../database/database.ts';
import { invalid } from '../../errors.ts';
import { listOf, oneOf } from '../responses/responses.ts';
import {
  CreationHeaders,
  idempotencyKeyOf,
  repeatable,
  tellRepeated,
} from '../idempotent-requests.ts';
import { operation } from './surface.ts';

const NewKey = strictObject(
  {
    name: plainName('The name of the key', 'On the server'),
    scopes: Type.Array(PortalKey.properties.scopes.items, {
      minItems: 1,
      uniqueItems: true,
      description: 'The permissions of the key.',
    }),
    expiresAt: Type.Optional(nullable(time({ description: 'When the key expires. Null: never.' }))),
  },
  {
    title: 'NewKey',
    description: 'A new key.',
    examples: [{ name: 'On the server', scopes: ['read:directory'], expiresAt: null }],
  },
);
const RotateKeyRequest = strictObject(
  {
    overlapSeconds: Type.Integer({
      minimum: 0,
      maximum: overlapSecondsMax,
      default: overlapSecondsDefault,
      description: 'How long the old key stays valid, in seconds.',
    }),
  },
  {
    title: 'RotateKeyRequest',
    description: 'The options of a key rotation.',
    examples: [{ overlapSeconds: 3600 }],
  },
);
export const exampleKey: PortalKey = {
  id: exampleId,
  name: 'On the server',
  last4: '0000',
  scopes: ['read:directory'],
  expiresAt: null,
  revokedAt: null,
  suspendedAt: null,
  suspendedReason: null,
  lastUsedAt: exampleTime,
  usesToday: 120,
  createdAt: exampleTime,
};
const created = { ...exampleKey, lastUsedAt: null, usesToday: 0, key: `odk_${'0'.repeat(38)}` };

export const keyOperations = [
  operation({
    operationId: 'listKeys',
    method: 'GET',
    path: '/apps/:appId/keys',
    summary: 'List the keys of an app',
    description:
      'Returns the keys, newest first, including expired and revoked keys, except for temporary keys that have expired.',
    query: PageQuery,
    returns: { 200: 'The keys.' },
    response: listOf(PortalKey, 'PortalKeyList', exampleKey),
    async run({ database, email, params: { appId }, query }) {
      await requireRole(database, email, appId, 'viewer');
      const { total, keys } = await listAppKeys(database, appId, query);
      return pageEnvelope(keys.map(toPortalKey), query, total);
    },
  }),
  operation({
    operationId: 'createKey',
    method: 'POST',
    path: '/apps/:appId/keys',
    summary: 'Create a key',
    description: `Returns the key. It is shown only once. An app has at most 20 valid keys. ${repeatable} After the key was revoked or has expired, it is a \`conflict\`, too.`,
    headers: CreationHeaders,
    body: NewKey,
    returns: { 201: 'The new key.' },
    response: oneOf(CreatedKey, 'CreatedKeyResponse', created),
    errors: ['conflict'],
    recentProof: true,
    async run({ change, email, actor, params: { appId }, body, secretKeys, request, reply }) {
      const { expiresAt = null, ...input } = body;
      const content = ['createKey', appId, input, expiresAt];
      const once = { by: actor.id, content, secretKeys, key: idempotencyKeyOf(request) };
      const { isRepeated, ...data } = await change(async (tx) => {
        await lockWithRole(tx, email, appId, 'developer');
        const made = await makeKeyOnce(tx, once, (keyOf) => {
          const fields = { appId, ...input, expiresAt: requireFuture(expiresAt) };
          return createKey(tx, actor, fields, keyOf);
        });
        return { ...(await readKey(tx, appId, made.id)), ...made };
      });
      tellRepeated(reply, isRepeated);
      return envelope(data);
    },
  }),
  operation({
    operationId: 'createTemporaryKey',
    method: 'POST',
    path: '/apps/:appId/temporary-keys',
    summary: 'Create a temporary key',
    description: `Returns a key that can only read the directory, for ${temporaryKeyMinutes} minutes. The documentation sends requests with it. It does not count towards the valid keys of the app, which has at most ${temporaryKeysPerAppMax} temporary ones.`,
    returns: { 201: 'The new key.' },
    response: oneOf(CreatedKey, 'CreatedKeyResponse', { ...created, expiresAt: exampleLaterTime }),
    errors: ['conflict'],
    async run({ change, email, actor, params: { appId } }) {
      const data = await change(async (tx) => {
        await lockWithRole(tx, email, appId, 'developer');
        const { id, key } = await createTemporaryKey(tx, actor, appId);
        return { ...(await readKey(tx, appId, id)), key };
      });
      return envelope(data);
    },
  }),
  operation({
    operationId: 'revokeKey',
    method: 'DELETE',
    path: '/apps/:appId/keys/:keyId',
    summary: 'Revoke a key',
    description:
      'Takes effect within a second and cannot be undone. Revoking a revoked key changes nothing.',
    returns: { 200: 'The revoked key.' },
    response: oneOf(PortalKey, 'PortalKeyResponse', { ...exampleKey, revokedAt: exampleTime }),
    async run({ change, email, actor, params: { appId, keyId } }) {
      const data = await change(async (tx) => {
        await lockWithRole(tx, email, appId, 'developer');
        await readAppKey(tx, appId, keyId);
        await revokeKey(tx, actor, keyId);
        return readKey(tx, appId, keyId);
      });
      return envelope(data);
    },
  }),
  operation({
    operationId: 'rotateKey',
    method: 'POST',
    path: '/apps/:appId/keys/:keyId/rotate',
    summary: 'Rotate a key',
    description: `Returns a new key with the same name, scopes and expiry. It is shown only once. The old key expires after the overlap. ${repeatable} After the new key was revoked or has expired, it is a \`conflict\`, too.`,
    headers: CreationHeaders,
    body: RotateKeyRequest,
    bodyOptional: true,
    returns: { 201: 'The new key.' },
    response: oneOf(RotatedKey, 'RotatedKeyResponse', {
      ...created,
      previous: { id: exampleId, endsAt: exampleLaterTime },
    }),
    errors: ['conflict'],
    recentProof: true,
    async run({
      change,
      email,
      actor,
      params: { appId, keyId },
      body,
      secretKeys,
      request,
      reply,
    }) {
      const content = ['rotateKey', appId, keyId, body];
      const once = { by: actor.id, content, secretKeys, key: idempotencyKeyOf(request) };
      const { isRepeated, ...data } = await change(async (tx) => {
        await lockWithRole(tx, email, appId, 'developer');
        await readAppKey(tx, appId, keyId);
        const made = await makeKeyOnce(tx, once, (keyOf) =>
          rotateKey(tx, actor, keyId, body.overlapSeconds, keyOf),
        );
        const { expiresAt } = await readAppKey(tx, appId, keyId);
        const previous = { id: keyId, endsAt: expiresAt!.toISOString() };
        return { ...(await readKey(tx, appId, made.id)), ...made, previous };
      });
      tellRepeated(reply, isRepeated);
      return envelope(data);
    },
  }),
];

/**
 * Makes a key, or the same again. The database has only its hash, so with an Idempotency-Key it is made from that, which only
 * whoever sent it has, from SECRET_KEY and from its id.
 */
async function makeKeyOnce(
  tx: Transaction,
  { secretKeys, ...once }: Once & { secretKeys: readonly Buffer[] },
  create: (keyOf?: (id: string) => string) => Promise<{ id: string; key: string }>,
): Promise<{ id: string; key: string; isRepeated: boolean }> {
  if (once.key === undefined) {
    const { id, key } = await create();
    return { id, key, isRepeated: false };
  }
  const text = JSON.stringify([once.by, once.key]);
  const keysOf = (id: string) => secretKeys.map((secretKey) => deriveApiKey(secretKey, id, text));
  const made = await createOnce(tx, once, async () => (await create((id) => keysOf(id)[0]!)).id);
  return { ...made, key: await showKeyAgain(tx, made.id, keysOf) };
}

async function readKey(executor: Executor, appId: string, id: string): Promise<PortalKey> {
  return toPortalKey(await readAppKey(executor, appId, id));
}

function requireFuture(text: string | null): Date | null {
  if (text === null) return null;
  const ends = requireTime(text);
  if (ends.getTime() > Date.now()) return ends;
  throw invalid({ path: 'body.expiresAt', message: 'must be a time in the future' });
}

export function toPortalKey(apiKey: ApiKey): PortalKey {
  const { appId: _, ...key } = apiKey;
  return { ...withTextTimes(key), scopes: key.scopes as PortalKey['scopes'] };
}
