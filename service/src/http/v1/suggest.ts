/** Suggests entries while somebody types. */
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { envelope } from '../../contract/envelope.ts';
import { noNul, strictObject } from '../../contract/shapes.ts';
import { Suggestion } from '../../contract/suggestion.ts';
import type { DirectoryReads } from '../../directory/list.ts';
import { suggest } from '../../directory/suggest.ts';
import { mountOperations, operationFor } from '../operations.ts';
import { oneOf } from '../responses/responses.ts';
import { keyedSurface } from './surface.ts';

export function registerSuggest(app: FastifyInstance, { database, search }: DirectoryReads): void {
  const surface = {
    ...keyedSurface('read:directory'),
    contextOf: () => ({ database, search }),
  };
  mountOperations(app, surface, 'Search', [suggestEntries]);
}

const query = strictObject({
  q: Type.String({
    ...noNul,
    minLength: 1,
    maxLength: 100,
    description: 'The text that was typed so far.',
    examples: ['acm'],
  }),
});
const example = { kind: 'organization', slug: 'acme-corporation', name: 'Acme Corporation' };

const suggestEntries = operationFor<DirectoryReads>()({
  operationId: 'suggest',
  method: 'GET',
  path: '/suggest',
  summary: 'Suggest entries',
  description:
    'Returns up to eight organisations, alliances and blueprints that match a text, the most relevant first.',
  query,
  returns: { 200: 'The suggestions.' },
  response: oneOf(
    Type.Array(Suggestion, { description: 'At most eight, the most relevant first.' }),
    'SuggestionResponse',
    [example],
  ),
  // Entries of all kinds change it, so it belongs to no revision, and is not cached.
  run: async (reads) => envelope(await suggest(reads, reads.query.q)),
});
