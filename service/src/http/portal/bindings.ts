/** Routes that bind an app to an organisation or alliance, and show what it could be bound to. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { bindApp, unbindApp } from '../../access/bindings.ts';
import { readOwnApp } from '../../access/own-apps.ts';
import { requireOwnApp } from '../../access/owned.ts';
import { exampleId } from '../../contract/examples.ts';
import { envelope, pageEnvelope } from '../../contract/envelope.ts';
import { Bindable, PortalBinding } from '../../contract/portal.ts';
import { strictObject } from '../../contract/shapes.ts';
import { findBindable, listBindable } from '../../directory/bindable.ts';
import { PageQuery } from '../../directory/list-query.ts';
import { ServiceError } from '../../errors.ts';
import { listOf } from '../responses.ts';
import { appAnswer, toPortalApp } from './apps.ts';
import { actorOf, ownerOf } from './authenticate.ts';
import {
  appParams,
  config,
  noQuery,
  portalErrors,
  portalResponses,
  security,
  type PortalRouteDependencies,
} from './route.ts';

const common = { tags: ['Apps'], security };
const BindableQuery = Type.Object(
  {
    ...PageQuery.properties,
    search: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 100,
        description: 'Text to find, regardless of case and accents, in what is not available too.',
      }),
    ),
  },
  { additionalProperties: false },
);
const { kind, slug } = PortalBinding.properties;
const NewBinding = strictObject(
  { kind, slug },
  {
    title: 'NewBinding',
    description: 'What to bind an app to.',
    examples: [{ kind: 'organization', slug: 'acme-corporation' }],
  },
);
const example = {
  kind: 'organization',
  id: exampleId,
  slug: 'acme-corporation',
  name: 'Acme Corporation',
  available: false,
  reason: 'You are not a manager of it.',
};

export function registerBindings(
  portal: FastifyInstance,
  { database }: PortalRouteDependencies,
): void {
  const routes = portal.withTypeProvider<TypeBoxTypeProvider>();

  routes.get(
    '/bindable',
    {
      config,
      schema: {
        ...common,
        operationId: 'listBindable',
        summary: 'See what an app could be bound to',
        description:
          'What you manage; with `search` also the other organisations and alliances of the directory, and why they are not available.',
        querystring: BindableQuery,
        response: portalResponses(
          200,
          'Organisations and alliances, what is available first.',
          listOf(Bindable, 'BindableList', example),
          portalErrors.read,
        ),
      },
    },
    async (request, reply) => {
      const { total, entries } = await listBindable(database, ownerOf(request), request.query);
      return reply.send(pageEnvelope(entries, request.query, total));
    },
  );

  routes.put(
    '/apps/:appId/binding',
    {
      config,
      schema: {
        ...common,
        operationId: 'bindApp',
        summary: 'Bind an app',
        description:
          'Only to what you manage. The binding ends with that role; an app has one at most.',
        params: appParams,
        body: NewBinding,
        querystring: noQuery,
        response: portalResponses(200, 'The app, bound.', appAnswer, [
          ...portalErrors.withBodyOne,
          'conflict',
        ]),
      },
    },
    async (request, reply) => {
      const { appId } = request.params;
      const owner = ownerOf(request);
      const app = await database.transaction().execute(async (tx) => {
        await requireOwnApp(tx, owner, appId);
        const subject = await findBindable(tx, owner, request.body);
        if (!subject) throw new ServiceError('not_found');
        await bindApp(tx, actorOf(request), appId, subject);
        return readOwnApp(tx, owner, appId);
      });
      return reply.send(envelope(toPortalApp(app)));
    },
  );

  routes.delete(
    '/apps/:appId/binding',
    {
      config,
      schema: {
        ...common,
        operationId: 'unbindApp',
        summary: 'End the binding of an app',
        description:
          'What waits for delivery and may no longer be sent ends. Without one, nothing.',
        params: appParams,
        querystring: noQuery,
        response: portalResponses(
          200,
          'The app, bound to nothing.',
          appAnswer,
          portalErrors.withBodyOne,
        ),
      },
    },
    async (request, reply) => {
      const { appId } = request.params;
      const owner = ownerOf(request);
      const app = await database.transaction().execute(async (tx) => {
        await requireOwnApp(tx, owner, appId);
        await unbindApp(tx, actorOf(request), appId);
        return readOwnApp(tx, owner, appId);
      });
      return reply.send(envelope(toPortalApp(app)));
    },
  );
}
