/** The user's apps. */
import { createApp, deleteApp, renameApp } from '../../access/apps.ts';
import { createOnce, usedKey } from '../../access/create-once.ts';
import { listOwnApps, readOwnApp, type OwnApp } from '../../access/own-apps.ts';
import { holdAccount, lockWithRole, requireRole } from '../../access/require-role.ts';
import { exampleId, exampleTime } from '../../contract/examples.ts';
import { envelope } from '../../contract/envelope.ts';
import { PortalApp } from '../../contract/portal.ts';
import { defaultQuotas } from '../../contract/quotas.ts';
import { deleted, plainName, strictObject } from '../../contract/shapes.ts';
import { withTextTimes } from '../../contract/parse-time.ts';
import type { Transaction } from '../../database/database.ts';
import { listOf, oneOf } from '../responses/responses.ts';
import {
  CreationHeaders,
  idempotencyKeyOf,
  repeatable,
  tellRepeated,
} from '../idempotent-requests.ts';
import { getAppUsage } from '../usage-operations.ts';
import { onOnePage, operation, type PortalContext } from './surface.ts';

const appName = plainName('The name of the app', 'Announcer');
const NewApp = strictObject(
  { name: appName },
  { title: 'NewApp', description: 'A new app.', examples: [{ name: 'Announcer' }] },
);
const AppChanges = strictObject(
  { name: appName },
  { title: 'AppChanges', description: 'The fields to change.', examples: [{ name: 'Announcer' }] },
);
const DeletedApp = deleted('The id of the deleted app.', {
  title: 'DeletedApp',
  description: 'Confirms that the app was deleted.',
});
const example: PortalApp = {
  id: exampleId,
  name: 'Announcer',
  role: 'owner',
  isLastOwner: true,
  failureMails: true,
  binding: {
    kind: 'organization',
    id: exampleId,
    slug: 'acme-corporation',
    name: 'Acme Corporation',
    boundBy: 'ada@example.org',
  },
  keyCount: 2,
  webhookCount: 1,
  quotas: { ...defaultQuotas, requestsPerMinute: null },
  suspendedAt: null,
  suspendedReason: null,
  createdAt: exampleTime,
};
export const appResponse = oneOf(PortalApp, 'PortalAppResponse', example);

export const appOperations = [
  operation({
    operationId: 'listApps',
    method: 'GET',
    path: '/apps',
    summary: 'List your apps',
    description: 'Returns the apps of which you are a member, oldest first. There are at most 100.',
    returns: { 200: 'Your apps.' },
    response: listOf(PortalApp, 'PortalAppList', example),
    run: async ({ database, email }) =>
      onOnePage((await listOwnApps(database, email)).map(toPortalApp)),
  }),
  operation({
    operationId: 'createApp',
    method: 'POST',
    path: '/apps',
    summary: 'Create an app',
    description: `Creates an app with you as its owner. You can own at most ten apps. ${repeatable} The response shows the app as it is.`,
    body: NewApp,
    returns: { 201: 'The new app.' },
    response: appResponse,
    headers: CreationHeaders,
    errors: ['conflict'],
    async run({ change, email, actor, body, request, reply }) {
      const once = { by: actor.id, key: idempotencyKeyOf(request), content: ['createApp', body] };
      const { app, isRepeated } = await change(async (tx) => {
        await holdAccount(tx, actor);
        const made = await createOnce(tx, once, () =>
          createApp(tx, actor, { name: body.name, owner: email }),
        );
        return { app: await readMade(tx, email, made), isRepeated: made.isRepeated };
      });
      tellRepeated(reply, isRepeated);
      return envelope(toPortalApp(app));
    },
  }),
  operation({
    operationId: 'getApp',
    method: 'GET',
    path: '/apps/:appId',
    summary: 'Get an app',
    description: 'Returns the app with its binding and the number of its keys and webhooks.',
    returns: { 200: 'The app.' },
    response: appResponse,
    run: async ({ database, email, params }) =>
      envelope(toPortalApp(await readOwnApp(database, email, params.appId))),
  }),
  operation({
    operationId: 'updateApp',
    method: 'PATCH',
    path: '/apps/:appId',
    summary: 'Update an app',
    description: 'Changes the name. Only owners can do this.',
    body: AppChanges,
    returns: { 200: 'The updated app.' },
    response: appResponse,
    async run({ change, email, actor, params: { appId }, body }) {
      const app = await change(async (tx) => {
        await lockWithRole(tx, email, appId, 'owner');
        await renameApp(tx, actor, appId, body.name);
        return readOwnApp(tx, email, appId);
      });
      return envelope(toPortalApp(app));
    },
  }),
  operation({
    operationId: 'deleteApp',
    method: 'DELETE',
    path: '/apps/:appId',
    summary: 'Delete an app',
    description:
      'Deletes the app with its members, keys, webhooks and binding, and cancels pending deliveries. Only owners can do this.',
    returns: { 200: 'The app was deleted.' },
    response: oneOf(DeletedApp, 'DeletedAppResponse', { id: exampleId, deleted: true }),
    recentProof: true,
    async run({ change, email, actor, params: { appId } }) {
      await change(async (tx) => {
        await requireRole(tx, email, appId, 'owner');
        // Again with the app locked: the locks may be waited for.
        await deleteApp(tx, actor, appId, email);
      });
      return envelope({ id: appId, deleted: true });
    },
  }),
];

export const appUsage = getAppUsage(
  '/apps/:appId/usage',
  ({ database, email }: PortalContext, appId) => requireRole(database, email, appId, 'viewer'),
);

/** Throws `conflict` if the app was deleted or left since. */
async function readMade(tx: Transaction, email: string, { id }: { id: string }): Promise<OwnApp> {
  const app = (await listOwnApps(tx, email)).find((own) => own.id === id);
  if (app) return app;
  throw usedKey(`created the app ${id}, of which you are no longer a member. Use a new one.`);
}

export function toPortalApp(app: OwnApp): PortalApp {
  return withTextTimes(app);
}
