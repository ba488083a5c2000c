/** Routes that manage the user's apps. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { createApp, deleteApp, renameApp } from '../../access/apps.ts';
import { listOwnApps, readOwnApp, type OwnApp } from '../../access/own-apps.ts';
import { requireOwnApp } from '../../access/owned.ts';
import { exampleId, exampleTime } from '../../contract/examples.ts';
import { envelope } from '../../contract/envelope.ts';
import { name, PortalApp } from '../../contract/portal.ts';
import { deleted, strictObject } from '../../contract/shapes.ts';
import { listOf, oneOf } from '../responses.ts';
import { actorOf, ownerOf } from './authenticate.ts';
import {
  appParams,
  config,
  noQuery,
  onOnePage,
  portalErrors,
  portalResponses,
  security,
  type PortalRouteDependencies,
} from './route.ts';

const common = { tags: ['Apps'], security };
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
export const appAnswer = oneOf(PortalApp, 'PortalAppResponse', example);

export function registerApps(portal: FastifyInstance, { database }: PortalRouteDependencies): void {
  const routes = portal.withTypeProvider<TypeBoxTypeProvider>();

  routes.get(
    '/apps',
    {
      config,
      schema: {
        ...common,
        operationId: 'listApps',
        summary: 'List your apps',
        description: 'All of them, oldest first; there are ten at most.',
        querystring: noQuery,
        response: portalResponses(
          200,
          'Your apps.',
          listOf(PortalApp, 'PortalAppList', example),
          portalErrors.read,
        ),
      },
    },
    async (request, reply) => {
      const apps = await listOwnApps(database, ownerOf(request));
      return reply.send(onOnePage(apps.map(toPortalApp)));
    },
  );

  routes.post(
    '/apps',
    {
      config,
      schema: {
        ...common,
        operationId: 'createApp',
        summary: 'Make an app',
        description: 'Needs a proven address. One has at most ten apps.',
        body: NewApp,
        querystring: noQuery,
        response: portalResponses(201, 'The new app.', appAnswer, [
          ...portalErrors.withBody,
          'conflict',
        ]),
      },
    },
    async (request, reply) => {
      const owner = ownerOf(request);
      const app = await database.transaction().execute(async (tx) => {
        const id = await createApp(tx, actorOf(request), { name: request.body.name, owner });
        return readOwnApp(tx, owner, id);
      });
      return reply.code(201).send(envelope(toPortalApp(app)));
    },
  );

  routes.get(
    '/apps/:appId',
    {
      config,
      schema: {
        ...common,
        operationId: 'getApp',
        summary: 'Get one app',
        description: 'With what it is bound to, and how much belongs to it.',
        params: appParams,
        querystring: noQuery,
        response: portalResponses(200, 'The app.', appAnswer, portalErrors.readOne),
      },
    },
    async (request, reply) => {
      const app = await readOwnApp(database, ownerOf(request), request.params.appId);
      return reply.send(envelope(toPortalApp(app)));
    },
  );

  routes.patch(
    '/apps/:appId',
    {
      config,
      schema: {
        ...common,
        operationId: 'updateApp',
        summary: 'Change an app',
        description: 'Gives it another name.',
        params: appParams,
        body: AppChanges,
        querystring: noQuery,
        response: portalResponses(200, 'As it is now.', appAnswer, portalErrors.withBodyOne),
      },
    },
    async (request, reply) => {
      const { appId } = request.params;
      const owner = ownerOf(request);
      const app = await database.transaction().execute(async (tx) => {
        await requireOwnApp(tx, owner, appId);
        await renameApp(tx, actorOf(request), appId, request.body.name);
        return readOwnApp(tx, owner, appId);
      });
      return reply.send(envelope(toPortalApp(app)));
    },
  );

  routes.delete(
    '/apps/:appId',
    {
      config,
      schema: {
        ...common,
        operationId: 'deleteApp',
        summary: 'Delete an app',
        description: 'With its keys, its webhooks and its binding; what waits for delivery ends.',
        params: appParams,
        querystring: noQuery,
        response: portalResponses(
          200,
          'It is deleted.',
          oneOf(DeletedApp, 'DeletedAppResponse', { id: exampleId, deleted: true }),
          portalErrors.withBodyOne,
        ),
      },
    },
    async (request, reply) => {
      const { appId } = request.params;
      await database.transaction().execute(async (tx) => {
        await requireOwnApp(tx, ownerOf(request), appId);
        await deleteApp(tx, actorOf(request), appId);
      });
      return reply.send(envelope({ id: appId, deleted: true }));
    },
  );
}

export function toPortalApp({ createdAt, ...app }: OwnApp): PortalApp {
  return { ...app, createdAt: createdAt.toISOString() };
}
