/** Binding an app to an organisation or alliance, and what it could be bound to. */
import { Type } from 'typebox';
import { bindApp, unbindApp } from '../../access/bindings.ts';
import { readOwnApp } from '../../access/own-apps.ts';
import { lockWithRole, requireRole } from '../../access/require-role.ts';
import { exampleId } from '../../contract/examples.ts';
import { envelope, pageEnvelope } from '../../contract/envelope.ts';
import { Bindable, PortalBinding } from '../../contract/portal.ts';
import { noNul, strictObject } from '../../contract/shapes.ts';
import { findBindable, listBindable } from '../../directory/bindable.ts';
import { PageQuery } from '../../directory/list-query.ts';
import { ServiceError } from '../../errors.ts';
import { listOf } from '../responses/responses.ts';
import { appResponse, toPortalApp } from './apps.ts';
import { operation } from './surface.ts';

const BindableQuery = strictObject({
  ...PageQuery.properties,
  search: Type.Optional(
    Type.String({
      ...noNul,
      minLength: 1,
      maxLength: 100,
      description:
        'Words to find, as in the search of the public API. Also searches entries that are not available.',
    }),
  ),
});
const { kind, slug } = PortalBinding.properties;
const NewBinding = strictObject(
  { kind, slug },
  {
    title: 'NewBinding',
    description: 'The organisation or alliance to bind the app to.',
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

export const bindingOperations = [
  operation({
    operationId: 'listBindable',
    method: 'GET',
    path: '/bindable',
    summary: 'List what an app can be bound to',
    description:
      'Returns the organisations and alliances that you manage. With `search`, also returns others, with the reason why they are not available.',
    query: BindableQuery,
    returns: { 200: 'Organisations and alliances, available ones first.' },
    response: listOf(Bindable, 'BindableList', example),
    async run({ email, query, ...reads }) {
      const { total, entries } = await listBindable(reads, email, query);
      return pageEnvelope(entries, query, total);
    },
  }),
  operation({
    operationId: 'bindApp',
    method: 'PUT',
    path: '/apps/:appId/binding',
    summary: 'Bind an app',
    description:
      'Binds the app to an organisation or alliance that you manage. The binding ends when you stop managing it, or stop being an owner of the app. Only owners can do this. An app has at most one binding.',
    body: NewBinding,
    returns: { 200: 'The app with its binding.' },
    response: appResponse,
    errors: ['conflict'],
    recentProof: true,
    async run({ change, email, actor, params: { appId }, body }) {
      const app = await change(async (tx) => {
        await requireRole(tx, email, appId, 'owner');
        const subject = await findBindable(tx, email, body);
        if (!subject) throw new ServiceError('not_found');
        await bindApp(tx, actor, appId, subject, email);
        return readOwnApp(tx, email, appId);
      });
      return envelope(toPortalApp(app));
    },
  }),
  operation({
    operationId: 'unbindApp',
    method: 'DELETE',
    path: '/apps/:appId/binding',
    summary: 'Unbind an app',
    description:
      'Cancels pending deliveries that the app can no longer receive. Only owners can do this. Does nothing if the app has no binding.',
    returns: { 200: 'The app without a binding.' },
    response: appResponse,
    async run({ change, email, actor, params: { appId } }) {
      const app = await change(async (tx) => {
        await lockWithRole(tx, email, appId, 'owner');
        await unbindApp(tx, actor, appId);
        return readOwnApp(tx, email, appId);
      });
      return envelope(toPortalApp(app));
    },
  }),
];
