/** The route that suggests entries while somebody types. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { envelope } from '../../contract/envelope.ts';
import { noNul, strictObject } from '../../contract/shapes.ts';
import { Suggestion } from '../../contract/suggestion.ts';
import type { DirectoryReads } from '../../directory/list.ts';
import { suggest } from '../../directory/suggest.ts';
import { keySecurity } from '../admission/admit.ts';
import { toEntry } from '../responses/response-cache.ts';
import { errorsOf, oneOf, responses } from '../responses/responses.ts';
import { sendEntry } from '../responses/send-entry.ts';

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

export function registerSuggest(app: FastifyInstance, reads: DirectoryReads): void {
  const data = Type.Array(Suggestion, { description: 'At most eight, the most relevant first.' });
  app.withTypeProvider<TypeBoxTypeProvider>().get(
    '/suggest',
    {
      config: { scope: 'read:directory' },
      schema: {
        operationId: 'suggest',
        tags: ['Search'],
        summary: 'Suggest entries',
        description:
          'Returns up to eight organisations, alliances and blueprints that match a text, the most relevant first. Requires the scope `read:directory`.',
        security: keySecurity,
        querystring: query,
        response: responses(
          200,
          'The suggestions.',
          oneOf(data, 'SuggestionResponse', [example]),
          errorsOf.keyed,
          { conditional: true },
        ),
      },
    },
    // Entries of all kinds change it, so it belongs to no revision, and is not cached.
    async (request, reply) =>
      sendEntry(request, reply, toEntry(0, envelope(await suggest(reads, request.query.q)))),
  );
}
