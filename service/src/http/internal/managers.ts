/**
 * Routes that read and replace the whole list of managers of an organisation or alliance. Managers may bind apps to it.
 */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { Type, type TObject } from 'typebox';
import { normaliseEmail } from '../../access/email.ts';
import { strictObject } from '../../contract/shapes.ts';
import { managersMax } from '../../contract/shared-fields.ts';
import type { ManagedKind } from '../../directory/import-managers.ts';
import { readManagers, replaceManagers } from '../../directory/write-managers.ts';
import { ServiceError } from '../../errors.ts';
import { oneOf } from '../responses.ts';
import { sendEntry } from '../send-entry.ts';
import { actorOf } from './authenticate.ts';
import { entryOf } from './entry-of.ts';
import { preconditionOf } from './precondition.ts';
import {
  allianceParams,
  config,
  internalErrors,
  internalResponses,
  noQuery,
  orgParams,
  security,
  type RouteDependencies,
} from './route.ts';
import { sendWritten } from './send-written.ts';

const addresses = Type.Array(Type.String({ minLength: 3, maxLength: 254 }), {
  maxItems: managersMax,
  description: 'Email addresses. They compare trimmed and in lower case.',
});
const example = { managers: ['ada@example.org'] };
const ManagersInput = strictObject(
  { managers: addresses },
  { title: 'ManagersInput', description: 'All managers.', examples: [example] },
);
const Managers = strictObject(
  { managers: addresses },
  { title: 'Managers', description: 'All managers, in order.' },
);

type Noun = { kind: ManagedKind; name: string; tag: string; params: TObject };

const nouns: Noun[] = [
  { kind: 'orgs', name: 'Org', tag: 'Organisations', params: orgParams },
  { kind: 'alliances', name: 'Alliance', tag: 'Alliances', params: allianceParams },
];
const answer = oneOf(Managers, 'ManagersResponse', example);

export function registerManagers(v1: FastifyInstance, dependencies: RouteDependencies): void {
  for (const noun of nouns) {
    registerRead(v1, dependencies, noun);
    registerReplacement(v1, dependencies, noun);
  }
}

function registerRead(v1: FastifyInstance, { database }: RouteDependencies, noun: Noun): void {
  v1.get(
    urlOf(noun),
    {
      config,
      schema: {
        ...schemaOf(noun),
        operationId: `get${noun.name}Managers`,
        summary: 'Get the managers',
        description: 'Who may bind an app to it.',
        response: internalResponses(200, 'The managers.', answer, internalErrors.keyedResource, {
          conditional: true,
        }),
      },
    },
    async (request, reply) => {
      const found = await readManagers(database, noun.kind, slugOf(request));
      if (!found) throw new ServiceError('not_found');
      return sendEntry(request, reply, entryOf(found));
    },
  );
}

function registerReplacement(v1: FastifyInstance, { writes }: RouteDependencies, noun: Noun): void {
  v1.withTypeProvider<TypeBoxTypeProvider>().put(
    urlOf(noun),
    {
      config,
      schema: {
        ...schemaOf(noun),
        operationId: `put${noun.name}Managers`,
        summary: 'Replace the managers',
        description:
          'Who is not in the list stops being a manager, and the bindings of their apps end with it; those of all others stay.',
        body: ManagersInput,
        response: internalResponses(
          200,
          'The managers as they are now.',
          answer,
          [...internalErrors.keyedResourceBody, 'precondition_failed'],
          { tagged: true },
        ),
      },
    },
    async (request, reply) => {
      const managers = request.body.managers.map((email, index) =>
        normaliseEmail(email, `body.managers.${index}`),
      );
      const options = { actor: actorOf(request), check: preconditionOf(request) };
      const written = await writes
        .transaction()
        .execute((tx) => replaceManagers(tx, noun.kind, slugOf(request), managers, options));
      return sendWritten(reply, written);
    },
  );
}

function urlOf({ kind }: Noun): string {
  return `/${kind}/:slug/managers`;
}

function schemaOf({ tag, params }: Noun) {
  return { tags: [tag], security, params, querystring: noQuery };
}

function slugOf({ params }: { params: unknown }): string {
  return (params as { slug: string }).slug;
}
