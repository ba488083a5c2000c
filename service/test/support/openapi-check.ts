/** Holds every answer that the tests see against openapi.json. */
import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { openApiFile } from './openapi-file.ts';

type Schema = Record<string, unknown>;
type Reference = { $ref: string };
type RequestContent = { schema: Reference; example: Record<string, unknown> };
type Response = { content?: Record<string, { schema: Schema }> };
export type Operation = {
  operationId: string;
  security: object[];
  parameters: {
    name: string;
    in: 'query' | 'path' | 'header';
    required: boolean;
    description: string;
    schema: Schema;
  }[];
  requestBody?: { required: boolean; content: { 'application/json': RequestContent } };
  responses: Record<string, Response | Reference>;
};
export type OpenApiDocument = {
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<
    string,
    { post: { requestBody: { content: Record<string, { schema: object; example: unknown }> } } }
  >;
  components: { schemas: Record<string, Schema>; responses: Record<string, Response> };
};

export const openApi = JSON.parse(readFileSync(openApiFile, 'utf8')) as OpenApiDocument;

const ajv = new Ajv2020({ strict: false, allErrors: true });
ajvFormats.default(ajv);
ajv.addSchema(openApi, 'openapi.json');
const validators = new Map<string, ValidateFunction>();

const operations = Object.entries(openApi.paths).map(([path, methods]) => ({
  pattern: new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`),
  path,
  methods,
}));

/** Throws where the body does not fit what openapi.json says of this answer. */
export function checkAnswer(method: string, pathname: string, status: number, body: unknown): void {
  const found = operations.find(({ pattern }) => pattern.test(pathname));
  const operation = found?.methods[method.toLowerCase()];
  // No operation: 404 and 405 come in the error envelope too.
  if (!found || !operation)
    return check('#/components/schemas/ErrorEnvelope', body, `${method} ${pathname}`);
  const answer = operation.responses[String(status)];
  if (!answer)
    throw new Error(
      `openapi.json has no ${status} for ${method} ${found.path}: ${JSON.stringify(body)}`,
    );
  const what = `${method} ${pathname} (${status})`;
  const pointer =
    '$ref' in answer
      ? answer.$ref
      : `#/paths/${escape(found.path)}/${method.toLowerCase()}/responses/${status}`;
  const { content } = '$ref' in answer ? referred(answer) : answer;
  if (!content) throw new Error(`${what} has a body, and openapi.json knows of none`);
  check(`${pointer}/content/${escape('application/json')}/schema`, body, what);
}

/** Throws where a delivered message does not fit its webhook in openapi.json. */
export function checkDelivery(event: string, body: unknown): void {
  check(
    `#/webhooks/${escape(event)}/post/requestBody/content/${escape('application/json')}/schema`,
    body,
    `delivery of ${event}`,
  );
}

function referred({ $ref }: Reference): Response {
  const response = openApi.components.responses[$ref.split('/').at(-1) ?? ''];
  if (!response) throw new Error(`openapi.json has no ${$ref}`);
  return response;
}

function check(pointer: string, body: unknown, what: string): void {
  let validate = validators.get(pointer);
  if (!validate)
    validators.set(pointer, (validate = ajv.compile({ $ref: `openapi.json${pointer}` })));
  if (!validate(body))
    throw new Error(
      `${what} does not fit openapi.json: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(body)}`,
    );
}

function escape(part: string): string {
  return encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));
}
