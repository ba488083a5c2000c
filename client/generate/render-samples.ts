/** Renders the examples of events in openapi.json as a module, for the client's command. */
import { format } from 'oxfmt';
import { bannerOf, type OpenApi } from './render-types.ts';

export async function renderSamples({ paths, webhooks = {} }: OpenApi): Promise<string> {
  const samples = Object.fromEntries(
    Object.entries(webhooks).map(([name, { post }]) => [
      name,
      post.requestBody.content['application/json'].example?.data,
    ]),
  );
  const listed = Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .find(({ operationId }) => operationId === 'listEvents');
  const names = listed?.parameters?.find(({ name }) => name === 'event')?.schema.enum;
  const text = `${bannerOf('openapi.json')}

/** The \`data\` of an example of each event. */
export const samples = ${JSON.stringify(samples)};

/** The events that \`GET /events\` and its stream have without a webhook. */
export const pulledEvents = ${JSON.stringify(names)} as const;
`;
  const { code } = await format('samples.ts', text, { singleQuote: true, printWidth: 100 });
  return code;
}
