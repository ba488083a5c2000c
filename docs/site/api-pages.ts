/** Makes a page of Markdown for each operation, event and error code of openapi.json. */
import { readFileSync } from 'node:fs';
import { Lexer, type Tokens } from 'marked';
import { describe, fieldTable, table, typeName, type Schemas } from './describe-schema.ts';
import {
  titled,
  type Page,
  type Parameter,
  type SampleRequest,
  type Schema,
  type Section,
} from './page.ts';
import { samplesOf } from './samples.ts';

type Content = {
  schema: Schema;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
};
type Response = {
  $ref?: string;
  description: string;
  content?: {
    'application/json': Content;
    'application/x-ndjson'?: Content;
    'text/event-stream'?: Content;
  };
};
type Operation = {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security: unknown[];
  parameters: (Omit<Parameter, 'example'> & { example?: string })[];
  requestBody?: { required: boolean; content: { 'application/json': Content } };
  responses: Record<string, Response>;
};
/** An event as the request that a webhook receives. */
type Webhook = Operation & Required<Pick<Operation, 'requestBody'>>;
type Document = {
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Webhook }>;
  components: { schemas: Schemas; responses: Record<string, Response> };
};

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
const document = JSON.parse(read('openapi.json')) as Document;
const { schemas, responses } = document.components;
const errorsFile = 'docs/reference/errors-and-limits.md';

/** Every operation with its request. */
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    operation,
    request: requestOf(method.toUpperCase(), path, operation),
  })),
);

export function apiSections(): Section[] {
  const byTag = document.tags.map(({ name }) => ({
    title: name === 'Description' ? 'API description' : name,
    kind: 'API',
    pages: operations
      .filter(({ operation }) => operation.tags.includes(name))
      .map(({ operation, request }) => operationPage(operation, request)),
  }));
  return [
    ...byTag.filter(({ pages }) => pages.length > 0),
    {
      title: 'Events you receive',
      kind: 'Event',
      pages: Object.entries(document.webhooks).map(([name, { post }]) => eventPage(name, post)),
    },
    { title: 'Error codes', kind: 'Error', pages: errorRows().map(errorPage) },
  ];
}

function requestOf(method: string, path: string, operation: Operation): SampleRequest {
  const { operationId, security, requestBody, parameters, description } = operation;
  return {
    operationId,
    method,
    path,
    parameters: parameters.map(withExample),
    body: requestBody?.content['application/json'].example ?? null,
    scope: security.length === 0 ? null : (/scope `([^`]+)`/.exec(description)?.[1] ?? null),
  };
}

function withExample({ example, ...parameter }: Operation['parameters'][number]): Parameter {
  return {
    ...parameter,
    example: example ?? parameter.schema.examples?.[0] ?? parameter.schema.enum?.[0] ?? '',
  };
}

function operationPage(operation: Operation, request: SampleRequest): Page {
  const { operationId, summary, description, requestBody } = operation;
  const { method, path } = request;
  const body = requestBody?.content['application/json'].schema;
  const parts = [
    `# ${summary}`,
    `\`${method} ${path}\``,
    description,
    ...samplesOf(request).map(({ title, language, code }) =>
      fence(`${language} title="${title}"`, code),
    ),
    'The sample in TypeScript needs [the client](../client/README.md#install), and `"type": "module"` in `package.json`.',
    '<!--request-->',
    ...parameterPart(operation),
    ...(body ? ['## Request body', fieldTable(body, schemas)] : []),
    ...responsePart(operation),
    '## Errors',
    errorTable(operation),
  ];
  const markdown = parts.join('\n\n');
  return titled({ path: `api/${operationId}`, markdown, source: null, request });
}

function parameterPart({ parameters }: Operation): string[] {
  if (parameters.length === 0) return [];
  const rows = parameters.map(({ name, in: place, required, schema, description }) => [
    `\`${name}\``,
    place,
    typeName(schema, schemas) + (required ? '' : ', optional'),
    describe({ ...schema, description }),
  ]);
  return ['## Parameters', table(['name', 'in', 'type', 'description'], rows)];
}

function responsePart(operation: Operation): string[] {
  const [status, response] = Object.entries(operation.responses).find(([code]) =>
    code.startsWith('2'),
  ) as [string, Response];
  const lines = response.content?.['application/x-ndjson'];
  if (lines)
    return [
      '## Response',
      `${status}: ${response.description} One JSON object per line.`,
      fence('json', lines.example as string),
    ];
  const stream = response.content?.['text/event-stream'];
  if (stream)
    return [
      '## Response',
      `${status}: ${response.description}`,
      fence('text', stream.example as string),
    ];
  const content = response.content?.['application/json'];
  if (!content) throw new Error(`${operation.operationId} returns nothing`);
  const fields = fieldTable(content.schema, schemas, ['success', 'meta', 'pagination']);
  return [
    '## Response',
    `${status}: ${response.description} The [response format](reference/reads.md#response-format) is the same for all operations.`,
    ...(fields.split('\n').length > 2 ? [fields] : []),
    fence('json', JSON.stringify(content.example, null, 2)),
  ];
}

function errorTable(operation: Operation): string {
  const rows = Object.entries(operation.responses).flatMap(([status, response]) =>
    codesOf(response).map((code) => [status, errorLink(code)]),
  );
  return table(['status', 'code'], rows);
}

const errorLink = (code: string) => `[\`${code}\`](errors/${code}.md)`;

function codesOf({ $ref }: Response): string[] {
  return $ref ? Object.keys(examplesOf(responses[$ref.split('/').at(-1) ?? ''])) : [];
}

function examplesOf(response: Response | undefined): Record<string, { value: unknown }> {
  return response?.content?.['application/json'].examples ?? {};
}

function eventPage(name: string, { summary, description, parameters, requestBody }: Webhook): Page {
  const { schema, example } = requestBody.content['application/json'];
  const headers = parameters.map((header) => [
    `\`${header.name}\``,
    header.description,
    `\`${header.example}\``,
  ]);
  const parts = [
    `# \`${name}\``,
    `${summary} ${description}`,
    name === 'webhook.test'
      ? 'Your webhook receives this request when [you test it](reference/deliveries.md#test-a-webhook):'
      : 'Your webhook receives this request:',
    fence('json', JSON.stringify(example, null, 2)),
    '## Body',
    fieldTable(schema, schemas),
    '## Headers',
    table(['header', 'content', 'example'], headers),
    '## Handle it',
    '[Verify the signature](guides/verify-signatures.md), store the event, and respond with a 2xx status.',
    fence('ts', handler(name)),
    ...(name === 'webhook.test'
      ? []
      : [
          'To receive an example of this event now, test your webhook with it:',
          fence(
            'sh',
            `curl -X POST "$API/webhooks/$ID/test" -H "Authorization: Bearer $KEY" \\\n  -H 'Content-Type: application/json' -d '{"event": "${name}"}'`,
          ),
        ]),
  ];
  return titled({ path: `events/${name}`, markdown: parts.join('\n\n'), source: null });
}

function handler(name: string): string {
  return `import { verifyWebhook } from '@orgdir/client';

export async function POST(request: Request): Promise<Response> {
  const event = await verifyWebhook({ request, secret: process.env['WEBHOOK_SECRET'] });
  if (event.event === '${name}') console.log(event.id, event.data);
  return new Response(null, { status: 204 });
}`;
}

type ErrorRow = { code: string; status: string; meaning: string; details: string };

/** The rows of the table of error codes, which is the source of their meaning. */
function errorRows(): ErrorRow[] {
  const tables = Lexer.lex(read(errorsFile)).filter((token) => token.type === 'table');
  const codes = (tables as Tokens.Table[]).find(({ header }) => header[0]?.text === 'code');
  if (!codes) throw new Error(`${errorsFile} has no table of error codes`);
  return codes.rows.map((cells) => {
    const [code = '', status = '', meaning = '', details = ''] = cells.map(({ text }) => text);
    return { code: code.replaceAll('`', ''), status, meaning, details };
  });
}

function errorPage({ code, status, meaning, details }: ErrorRow): Page {
  const example = Object.values(responses)
    .map((response) => examplesOf(response)[code]?.value)
    .find(Boolean);
  const returnedBy = operations.filter(({ operation }) =>
    Object.values(operation.responses).some((response) => codesOf(response).includes(code)),
  );
  const parts = [
    `# \`${code}\``,
    `Status ${status}: ${inErrorsFile(meaning)}.`,
    ...(details ? [`\`details\` has ${inErrorsFile(details)}.`] : []),
    ...(example ? [fence('json', JSON.stringify(example, null, 2))] : []),
    '[Which errors to retry](reference/errors-and-limits.md#which-errors-to-retry) says whether to send the request again.',
    ...(returnedBy.length > 0
      ? [
          '## Returned by',
          returnedBy
            .map(({ operation }) => `- [${operation.summary}](api/${operation.operationId}.md)`)
            .join('\n'),
        ]
      : []),
  ];
  return titled({ path: `errors/${code}`, markdown: parts.join('\n\n'), source: null });
}

/** Links to headings of the file lead there from another page too. */
function inErrorsFile(text: string): string {
  return text.replaceAll('](#', '](reference/errors-and-limits.md#');
}

function fence(info: string, code: string): string {
  return `\`\`\`${info}\n${code}\n\`\`\``;
}
