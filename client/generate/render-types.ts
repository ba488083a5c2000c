/**
 * Renders openapi.json as TypeScript types: its schemas, the query of each operation, and the union of all events, without
 * envelopes and pages, which the client reads itself.
 */
import { compile, type JSONSchema } from 'json-schema-to-typescript-lite';
import { format } from 'oxfmt';

type Schema = JSONSchema & { $ref?: string; 'x-extensible-enum'?: string[] };
type Parameter = {
  in: string;
  name: string;
  required?: boolean;
  description: string;
  schema: Schema;
};
type Operation = { operationId: string; parameters?: Parameter[] };
type Content = {
  content: { 'application/json': { schema: { $ref: string }; example?: { data: object } } };
};
export type OpenApi = {
  paths: Record<string, Record<string, Operation>>;
  webhooks?: Record<string, { post: { requestBody: Content } }>;
  components: { schemas: Record<string, Schema> };
};

export const bannerOf = (source: string) =>
  `/** Generated from ${source}: npm run openapi. Do not edit. */`;

/** `EventRecord` is left out because the union of events types its `data`. */
const leftOut = /(Response|List|ListMeta)$|^(Meta|ErrorEnvelope|ErrorObject|EventRecord)$/;

/**
 * Used for the client and the portal. `source` is the name of the OpenAPI file. `isClosed`: the types are rendered for the
 * same version of the service, which has no other states.
 */
export async function renderTypes(
  openApi: OpenApi,
  { source = 'openapi.json', isClosed = false } = {},
): Promise<string> {
  const schemas = Object.entries(openApi.components.schemas).filter(
    ([name]) => !leftOut.test(name),
  );
  const definitions = Object.fromEntries([...schemas, ...queries(openApi)]);
  const root = JSON.parse(
    JSON.stringify({ definitions }).replaceAll('#/components/schemas/', '#/definitions/'),
    (_, value: Schema) => withStates(value, isClosed),
  ) as JSONSchema;
  const text = await compile({ type: 'object', ...root }, rootName, {
    unreachableDefinitions: true,
    additionalProperties: false,
    // A tuple type for each `minItems` would burden callers, and the service checks it.
    ignoreMinAndMaxItems: true,
  });
  const types = [`${bannerOf(source)}\n`, tidy(text), ...unions(openApi)].join('\n');
  const { code } = await format('types.ts', types, { singleQuote: true, printWidth: 100 });
  return code;
}

/** A state may gain values: editors suggest those of now, and a comparison with any other string compiles. */
function withStates(schema: Schema, isClosed: boolean): Schema {
  const states = schema?.['x-extensible-enum'];
  if (!states) return schema;
  const isNullable = [schema.type].flat().includes('null');
  if (isClosed) return { ...schema, enum: isNullable ? [...states, null] : states };
  const types = [
    ...states.map((name) => `'${name}'`),
    '(string & {})',
    ...(isNullable ? ['null'] : []),
  ];
  return { ...schema, tsType: types.join(' | ') };
}

const rootName = 'Root';

/** The query parameters of each operation, such as `ListOrgsQuery`. */
function queries({ paths }: OpenApi): [string, Schema][] {
  return Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ operationId, parameters = [] }): [string, Schema][] => {
      const query = parameters.filter((parameter) => parameter.in === 'query');
      if (query.length === 0) return [];
      const name = `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Query`;
      return [[name, querySchema(operationId, query)]];
    });
}

function querySchema(operationId: string, parameters: Parameter[]): Schema {
  return {
    type: 'object',
    description: `The query parameters of \`${operationId}\`.`,
    additionalProperties: false,
    required: parameters.filter(({ required }) => required).map(({ name }) => name),
    properties: Object.fromEntries(
      parameters.map(({ name, description, schema }) => [name, { ...schema, description }]),
    ),
  };
}

/** Removes the generator's notes on where a type is used, and puts short comments on one line. */
function tidy(text: string): string {
  return text
    .replace(`export interface ${rootName} {}\n`, '')
    .replaceAll(
      / \*\n \* This interface was referenced by[^/]*?via the `definition` "\w+"\.\n/g,
      '',
    )
    .replaceAll(/\/\*\*\n\s*\* (.*)\n\s*\*\//g, '/** $1 */')
    .replaceAll(/\n(\/\*\* .* \*\/\nexport )/g, '\n\n$1')
    .trim()
    .concat('\n');
}

function unions({ webhooks }: OpenApi): string[] {
  if (!webhooks) return [];
  const names = Object.values(webhooks).map(({ post }) => {
    const { $ref } = post.requestBody.content['application/json'].schema;
    return $ref.slice('#/components/schemas/'.length);
  });
  return [
    `/** The body of a delivery. \`event\` determines the type of \`data\`. New events may be added. */
export type WebhookEvent =
${names.map((name) => `  | ${name}`).join('\n')};

/** The name of an event. */
export type EventName = WebhookEvent['event'];
`,
  ];
}
