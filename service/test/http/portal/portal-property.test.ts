import { sql } from '../../../src/database/database.ts';
import { put } from '../../support/directory.ts';
import { endedDelivery } from '../../support/eventually.ts';
import { testHostileRequests, type Target } from '../../support/hostile-requests.ts';
import { checkPortalAnswer, portalOpenApi } from '../../support/openapi-check.ts';
import { signUp } from '../../support/portal.ts';
import { recordedEvents } from '../../support/queue.ts';
import { loopbackAllowed, startReceiver } from '../../support/receiver.ts';
import { startTestService } from '../../support/service.ts';

const service = await startTestService({ env: loopbackAllowed });
const { database } = service;
await put(database, 'orgs', [
  { slug: 'acme-corporation', name: 'Acme', managers: ['owner@example.org'] },
]);
const receiver = await startReceiver();
const owner = await signUp(service, 'owner@example.org');
const { body: app } = await owner.call('/apps', { method: 'POST', json: { name: 'Tried' } });
const path = `/apps/${app.data.id}`;
const { body: key } = await owner.call(`${path}/keys`, {
  method: 'POST',
  json: { name: 'Tried', scopes: ['read:directory'] },
});
const { body: webhook } = await owner.call(`${path}/webhooks`, {
  method: 'POST',
  json: { url: receiver.url },
});
await owner.call(`${path}/webhooks/${webhook.data.id}/test`, { method: 'POST' });
const delivery = await endedDelivery(service, webhook.data.id);
const { body: invitation } = await owner.call(`${path}/invitations`, {
  method: 'POST',
  json: { email: 'invited@example.org', role: 'viewer' },
});
const { body: members } = await owner.call(`${path}/members`);

/** What is deleted or revoked is none of those that the other operations are tried on. */
function valid({ method, path: route }: Target, name: string): string {
  if (name === 'appId')
    return method === 'delete' && route.endsWith('{appId}') ? crypto.randomUUID() : app.data.id;
  if (method === 'delete') return crypto.randomUUID();
  if (name === 'keyId') return route.endsWith('rotate') ? crypto.randomUUID() : key.data.id;
  const ids: Record<string, string> = {
    deliveryId: delivery.id,
    memberId: members.data[0].id,
    invitationId: invitation.data.id,
  };
  return ids[name] ?? webhook.data.id;
}

async function changes(): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select (select count(*) from audit_log) + (select count(*) from ${recordedEvents}) as count
  `.execute(database);
  return rows[0]?.count ?? 0;
}

testHostileRequests({
  url: service.url,
  credentials: owner.credentials,
  document: {
    ...portalOpenApi,
    // Those of the console: `operator-property.test.ts`.
    paths: Object.fromEntries(
      Object.entries(portalOpenApi.paths).filter(([each]) => !each.includes('/operator/')),
    ),
  },
  check: checkPortalAnswer,
  valid,
  body: (example) => ({ ...example, ...('url' in example ? { url: receiver.url } : {}) }),
  // There is an account already, and the tokens, the address and the password of the examples are nobody's.
  refused: {
    checkFirstAccountLink: [403],
    createFirstAccount: [403],
    signIn: [401],
    signInWithProvider: [404],
    checkPasswordLink: [403],
    setPassword: [403],
    checkInvitationLink: [403],
    signUpWithInvitation: [403],
    changePassword: [400, 429],
    requestAddressChange: [429],
    checkAddressChange: [403],
    changeAddress: [403],
    // The example names somebody else.
    deleteAccount: [400],
    addAccountMethod: [404],
    signInWithPasskey: [401],
    proveWithPassword: [400, 429],
    proveWithAuthenticator: [400, 429],
    proveWithMailedCode: [400, 429],
    proveWithPasskey: [400, 429],
    mailProofCode: [429],
    addPasskey: [400],
    confirmAuthenticator: [400, 409, 429],
    createRecoveryCodes: [409],
  },
  oneIn: 30,
  changes,
});
