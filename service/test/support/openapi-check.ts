/** Holds every answer that the tests see against openapi.json, or what the internal API and the portal say of themselves. */
import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { internalOpenApiFile, openApiFile, portalOpenApiFile } from './openapi-file.ts';

type Schema = Record<string, unknown>;
type Reference = { $ref: string };
type RequestContent = { schema: Reference; example: Record<string, unknown> };
type Lines = { schema: Schema; example: string };
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
    example?: string;
  }[];
  requestBody?: {
    required: boolean;
    content: { 'application/json'?: RequestContent; 'application/x-ndjson'?: Lines };
  };
  responses: Record<string, Response | Reference>;
};
export type OpenApiDocument = {
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<
    string,
    {
      post: {
        description: string;
        requestBody: { content: Record<string, { schema: object; example: unknown }> };
        responses: Record<string, { description: string }>;
      };
    }
  >;
  components: { schemas: Record<string, Schema>; responses: Record<string, Response> };
};

/** Throws where the body does not fit what the description says of this answer. */
export type AnswerCheck = (method: string, pathname: string, status: number, body: unknown) => void;

// The descriptions are no schemas themselves; openapi-rules.ts checks them.
const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false });
ajvFormats.default(ajv);
const validators = new Map<string, ValidateFunction>();

function read(file: URL, name: string): OpenApiDocument {
  const document = JSON.parse(readFileSync(file, 'utf8')) as OpenApiDocument;
  ajv.addSchema(closed(document) as object, name);
  return document;
}

/** Clients must tolerate new fields and states, so responses are open in the description. The tests accept only described ones. */
function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed);
  if (typeof node !== 'object' || node === null) return node;
  const inner: Schema = Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, closed(value)]),
  );
  const states = inner['x-extensible-enum'];
  if (Array.isArray(states))
    return { ...inner, enum: [inner['type']].flat().includes('null') ? [...states, null] : states };
  return inner['type'] === 'object' && inner['properties']
    ? { additionalProperties: false, ...inner }
    : inner;
}

export const openApi = read(openApiFile, 'openapi.json');
export const internalOpenApi = read(internalOpenApiFile, 'openapi.internal.json');
export const portalOpenApi = read(portalOpenApiFile, 'openapi.portal.json');
export const checkAnswer = createAnswerCheck(openApi, 'openapi.json');
export const checkInternalAnswer = createAnswerCheck(internalOpenApi, 'openapi.internal.json');

export const checkPortalAnswer = createAnswerCheck(portalOpenApi, 'openapi.portal.json');

function createAnswerCheck(document: OpenApiDocument, file: string): AnswerCheck {
  const operations = Object.entries(document.paths).map(([path, methods]) => ({
    pattern: new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`),
    path,
    methods,
  }));
  return (method, pathname, status, body) => {
    const parameters = ({ path }: { path: string }) => path.split('{').length;
    // Like OpenAPI: a path with fewer parameters is matched first.
    const [found] = operations
      .filter(({ pattern }) => pattern.test(pathname))
      .sort((one, other) => parameters(one) - parameters(other));
    const operation = found?.methods[method.toLowerCase()];
    // No operation: 404 and 405 come in the error envelope too.
    if (!found || !operation)
      return check(file, '#/components/schemas/ErrorEnvelope', body, `${method} ${pathname}`);
    const answer = operation.responses[String(status)];
    if (!answer)
      throw new Error(
        `${file} has no ${status} for ${method} ${found.path}: ${JSON.stringify(body)}`,
      );
    const what = `${method} ${pathname} (${status})`;
    const pointer =
      '$ref' in answer
        ? answer.$ref
        : `#/paths/${escape(found.path)}/${method.toLowerCase()}/responses/${status}`;
    const { content } = '$ref' in answer ? referred(document, answer) : answer;
    if (!content) throw new Error(`${what} has a body, and ${file} knows of none`);
    check(file, `${pointer}/content/${escape('application/json')}/schema`, body, what);
  };
}

/** Throws where a delivered message does not fit its webhook in openapi.json. */
export function checkDelivery(event: string, body: unknown): void {
  check(
    'openapi.json',
    `#/webhooks/${escape(event)}/post/requestBody/content/${escape('application/json')}/schema`,
    body,
    `delivery of ${event}`,
  );
}

function referred(document: OpenApiDocument, { $ref }: Reference): Response {
  const response = document.components.responses[$ref.split('/').at(-1) ?? ''];
  if (!response) throw new Error(`there is no ${$ref}`);
  return response;
}

function check(file: string, pointer: string, body: unknown, what: string): void {
  const $ref = `${file}${pointer}`;
  let validate = validators.get($ref);
  if (!validate) validators.set($ref, (validate = ajv.compile({ $ref })));
  if (!validate(body))
    throw new Error(
      `${what} does not fit ${file}: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(body)}`,
    );
}

function escape(part: string): string {
  return encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));
}
