/** The user's apps. */
import { createApp, deleteApp, renameApp } from '../../access/apps.ts';
import { listOwnApps, readOwnApp, type OwnApp } from '../../access/own-apps.ts';
import { requireOwnApp } from '../../access/owned.ts';
import { exampleId, exampleTime } from '../../contract/examples.ts';
import { envelope } from '../../contract/envelope.ts';
import { name, PortalApp } from '../../contract/portal.ts';
import { deleted, strictObject } from '../../contract/shapes.ts';
import { listOf, oneOf } from '../responses.ts';
import { onOnePage, operation } from './route.ts';

const appName = name('What to call it.', 'Announcer');
const NewApp = strictObject(
  { name: appName },
  { title: 'NewApp', description: 'An app to make.', examples: [{ name: 'Announcer' }] },
);
const AppChanges = strictObject(
  { name: appName },
  { title: 'AppChanges', description: 'What to change.', examples: [{ name: 'Announcer' }] },
);
const DeletedApp = deleted('Of the app that was.', {
  title: 'DeletedApp',
  description: 'Says that an app is gone.',
});
const example: PortalApp = {
  id: exampleId,
  name: 'Announcer',
  binding: {
    kind: 'organization',
    id: exampleId,
    slug: 'acme-corporation',
    name: 'Acme Corporation',
  },
  keyCount: 2,
  webhookCount: 1,
  createdAt: exampleTime,
};
export const appResponse = oneOf(PortalApp, 'PortalAppResponse', example);

export const appOperations = [
  operation({
    operationId: 'listApps',
    method: 'GET',
    path: '/apps',
    summary: 'List your apps',
    description: 'All of them, oldest first; there are ten at most.',
    returns: { 200: 'Your apps.' },
    response: listOf(PortalApp, 'PortalAppList', example),
    run: async ({ database, owner }) =>
      onOnePage((await listOwnApps(database, owner)).map(toPortalApp)),
  }),
  operation({
    operationId: 'createApp',
    method: 'POST',
    path: '/apps',
    summary: 'Make an app',
    description: 'Needs a proven address. One has at most ten apps.',
    body: NewApp,
    returns: { 201: 'The new app.' },
    response: appResponse,
    errors: ['conflict'],
    async run({ database, owner, actor, body }) {
      const app = await database.transaction().execute(async (tx) => {
        const id = await createApp(tx, actor, { name: body.name, owner });
        return readOwnApp(tx, owner, id);
      });
      return envelope(toPortalApp(app));
    },
  }),
  operation({
    operationId: 'getApp',
    method: 'GET',
    path: '/apps/:appId',
    summary: 'Get one app',
    description: 'With what it is bound to, and how much belongs to it.',
    returns: { 200: 'The app.' },
    response: appResponse,
    run: async ({ database, owner, params }) =>
      envelope(toPortalApp(await readOwnApp(database, owner, params.appId))),
  }),
  operation({
    operationId: 'updateApp',
    method: 'PATCH',
    path: '/apps/:appId',
    summary: 'Change an app',
    description: 'Gives it another name.',
    body: AppChanges,
    returns: { 200: 'As it is now.' },
    response: appResponse,
    async run({ database, owner, actor, params: { appId }, body }) {
      const app = await database.transaction().execute(async (tx) => {
        await requireOwnApp(tx, owner, appId);
        await renameApp(tx, actor, appId, body.name);
        return readOwnApp(tx, owner, appId);
      });
      return envelope(toPortalApp(app));
    },
  }),
  operation({
    operationId: 'deleteApp',
    method: 'DELETE',
    path: '/apps/:appId',
    summary: 'Delete an app',
    description: 'With its keys, its webhooks and its binding; what waits for delivery ends.',
    returns: { 200: 'It is deleted.' },
    response: oneOf(DeletedApp, 'DeletedAppResponse', { id: exampleId, deleted: true }),
    async run({ database, owner, actor, params: { appId } }) {
      await database.transaction().execute(async (tx) => {
        await requireOwnApp(tx, owner, appId);
        await deleteApp(tx, actor, appId);
      });
      return envelope({ id: appId, deleted: true });
    },
  }),
];

export function toPortalApp({ createdAt, ...app }: OwnApp): PortalApp {
  return { ...app, createdAt: createdAt.toISOString() };
}
