/**
 * Whatever is sent to an operation that an API describes: never a 5xx, never an answer outside its schema, and a write
 * that is refused changes nothing. A failure prints the seed; `fc.assert(…, { seed, path })` repeats it.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { METHODS } from 'node:http';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  brokenBodies,
  brokenQueries,
  brokenSegments,
  hostileTexts,
  hostileValues,
  mediaTypes,
} from './hostile-values.ts';
import type { AnswerCheck, OpenApiDocument, Operation } from './openapi-check.ts';
import { rawRequest, type RawAnswer, type RawRequest } from './raw-request.ts';

export type Target = { path: string; method: string; operation: Operation };
export type HostileApi = {
  url: string;
  /** The headers that authenticate the caller: a key or a session. */
  credentials: Record<string, string>;
  document: OpenApiDocument;
  check: AnswerCheck;
  /** The values of path parameters. */
  valid(target: Target, name: string): string;
  /** The operation's example, and what this run must have different. */
  body(example: Record<string, unknown>): Record<string, unknown>;
  /** The allowed statuses of valid requests in addition to those of every API, by operation. */
  refused?: Record<string, number[]>;
  /** Each operation, parameter and field gets a fraction of the values, others in each run. */
  oneIn: number;
  /** Grows with every change. Without it nobody looks whether refused writes change something. */
  changes?(): Promise<number>;
  /** Puts back what was accepted and is in the way of what follows. */
  restore?(answer: RawAnswer): Promise<void>;
};

/** The number of random combinations. */
const runs = 30;
const commonMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE']);
const rareMethods = METHODS.filter((method) => !commonMethods.has(method));
const readMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

export function testHostileRequests(api: HostileApi): void {
  const targets: Target[] = Object.entries(api.document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const { oneIn } = api;
  let turn = randomInt(oneIn);
  let changed: number | undefined;

  type Parts = { parameters: Record<string, string>; extra?: string; body?: unknown };

  /** A request that the operation accepts, and what `parts` puts in the place of its own. */
  function build(target: Target, parts: Partial<Parts> = {}): RawRequest {
    const { parameters = {}, extra } = parts;
    const path = target.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encode(parameters[name] ?? api.valid(target, name)),
    );
    const query = Object.entries({ ...requiredQuery(target), ...parameters })
      .filter(([name]) => !target.path.includes(`{${name}}`))
      .map(([name, value]) => `${encode(name)}=${encode(value)}`);
    if (extra !== undefined) query.push(extra);
    const body = 'body' in parts ? parts.body : validBody(target);
    return {
      method: target.method.toUpperCase(),
      path: query.length > 0 ? `${path}?${query.join('&')}` : path,
      headers: {
        ...credentialsOf(target),
        ...(body === undefined ? {} : { 'content-type': typeOf(target) }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
  }

  function requiredQuery({ operation }: Target): Record<string, string> {
    const required = operation.parameters.filter((one) => one.in === 'query' && one.required);
    return Object.fromEntries(
      required.map(({ name, example, schema }) => [
        name,
        String(example ?? (schema['enum'] as string[])[0]),
      ]),
    );
  }

  /** Operations without authentication get none: a sign-out would end the session of later requests. */
  function credentialsOf({ operation }: Target): Record<string, string> {
    const { origin } = api.credentials;
    return operation.security.length > 0 ? api.credentials : origin ? { origin } : {};
  }

  /** For lines, the object of one of them. */
  function validBody({ operation }: Target): Record<string, unknown> | undefined {
    const { content } = operation.requestBody ?? {};
    const line = content?.['application/x-ndjson']?.example;
    const example = line === undefined ? content?.['application/json']?.example : JSON.parse(line);
    return example && api.body(example as Record<string, unknown>);
  }

  function typeOf({ operation }: Target): string {
    return Object.keys(operation.requestBody?.content ?? {})[0] ?? 'application/json';
  }

  function fieldsOf(target: Target): string[] {
    const reference = target.operation.requestBody?.content['application/json']?.schema.$ref;
    const schema = reference && api.document.components.schemas[reference.split('/').at(-1) ?? ''];
    return Object.keys(schema ? (schema['properties'] as object) : (validBody(target) ?? {}));
  }

  /** The values for this turn, one at least. */
  function byTurns<T>(values: T[]): T[] {
    turn += 1;
    const step = Math.min(oneIn, values.length);
    return values.filter((_, index) => (index + turn) % step === 0);
  }

  async function mustBeInOrder(request: RawRequest): Promise<number> {
    const answer = await rawRequest(api.url, request);
    const what = `${request.method} ${request.path.slice(0, 200)} ${String(request.body).slice(0, 200)}`;
    assert.ok(answer.status < 500, `${answer.status} ${what}`);
    if (!readMethods.has(String(request.method))) await changesOnlyWhatItSays(answer, what);
    assert.match(answer.headers['x-request-id'] as string, /^[A-Za-z0-9._:-]{1,128}$/, what);
    if (answer.text === '') {
      assert.ok([204, 304].includes(answer.status) || request.method === 'HEAD', `empty: ${what}`);
      return answer.status;
    }
    const pathname = request.path.split('?')[0] ?? '';
    if (answer.status === 200 && pathname.endsWith('.ndjson')) {
      assert.match(answer.headers['content-type'] ?? '', /^application\/x-ndjson/, what);
      for (const line of answer.text.trim().split('\n')) JSON.parse(line);
      return answer.status;
    }
    if (answer.headers['content-type']?.startsWith('text/event-stream')) return answer.status;
    assert.match(answer.headers['content-type'] ?? '', /^application\/json/, what);
    api.check(String(request.method), pathname, answer.status, JSON.parse(answer.text));
    return answer.status;
  }

  async function changesOnlyWhatItSays(answer: RawAnswer, what: string): Promise<void> {
    if (!api.changes) return;
    if (answer.status < 400) await api.restore?.(answer);
    const now = await api.changes();
    if (answer.status >= 400) assert.equal(now, changed ?? now, `refused, and changed: ${what}`);
    changed = now;
  }

  // For whoever is no operator, there is no console.
  const paths = Object.entries(api.document.paths).filter(([path]) => !path.includes('/operator/'));
  for (const [path, methods] of paths)
    test(`${path}: every other method is 405, and HEAD and OPTIONS are answered`, async () => {
      const target = targets.find((each) => each.path === path)!;
      for (const method of [...commonMethods, ...byTurns(rareMethods)]) {
        // CONNECT names no address.
        if (method === 'CONNECT' || method.toLowerCase() in methods) continue;
        const status = await mustBeInOrder({ ...build(target), method });
        const head = method === 'HEAD' && 'get' in methods;
        const asGet = head ? await mustBeInOrder({ ...build(target), method: 'GET' }) : 405;
        assert.equal(status, method === 'OPTIONS' ? 204 : asGet, method);
      }
    });

  for (const target of targets) {
    const name = target.operation.operationId;

    test(`${name}: what is valid is accepted, or refused as it says`, async () => {
      const status = await mustBeInOrder(build(target));
      const refused = api.refused?.[name] ?? [];
      assert.ok([200, 201, 202, 404, 409, ...refused].includes(status), `${status}`);
    });

    if (target.operation.parameters.length > 0)
      test(`${name}: each parameter takes every hostile value without a failure`, async () => {
        for (const { name: parameter, in: place, schema } of target.operation.parameters) {
          for (const value of byTurns(hostileTexts)) {
            if (place === 'header') {
              const request = build(target);
              const header = Buffer.from(value.replaceAll(/[^\t\x20-\x7e]/g, '?')).toString(
                'latin1',
              );
              await mustBeInOrder({
                ...request,
                headers: { ...request.headers, [parameter]: header },
              });
            } else {
              await mustBeInOrder(build(target, { parameters: { [parameter]: value } }));
            }
          }
          if (place !== 'query') continue;
          const twice = build(target, {
            parameters: { [parameter]: '1' },
            extra: `${parameter}=1`,
          });
          const status = await mustBeInOrder(twice);
          const mayRepeat = [schema?.['type']].flat().includes('array');
          if (!mayRepeat) assert.equal(status, 400, `${parameter} repeated`);
        }
        for (const segment of target.path.includes('{') ? byTurns(brokenSegments) : [])
          await mustBeInOrder({
            ...build(target),
            path: target.path.replace(/\{\w+\}/, segment),
          });
      });

    test(`${name}: a query that is unknown or broken is refused`, async () => {
      for (const unknown of [
        'unknown',
        'Page',
        '__proto__',
        'constructor',
        'page[]',
        'a'.repeat(500),
      ])
        assert.ok(
          [400, 404].includes(
            await mustBeInOrder(build(target, { parameters: { [unknown]: '1' } })),
          ),
          unknown,
        );
      for (const extra of byTurns(brokenQueries)) await mustBeInOrder(build(target, { extra }));
    });

    if (target.operation.requestBody)
      test(`${name}: each field of the body takes every hostile value without a failure`, async () => {
        for (const field of fieldsOf(target))
          for (const value of byTurns(hostileValues))
            await mustBeInOrder(build(target, { body: { ...validBody(target), [field]: value } }));
        for (const body of byTurns(hostileValues)) await mustBeInOrder(build(target, { body }));
        for (const unknown of ['unknown', '__proto__x', 'URL', ''])
          assert.equal(
            await mustBeInOrder(build(target, { body: { ...validBody(target), [unknown]: 1 } })),
            400,
          );
      });

    test(`${name}: a body that is broken, too large or of another type is no failure`, async () => {
      const request = build(target);
      for (const body of byTurns(brokenBodies))
        await mustBeInOrder({
          ...request,
          body,
          headers: { ...request.headers, 'content-type': typeOf(target) },
        });
      for (const type of byTurns(mediaTypes))
        await mustBeInOrder({
          ...request,
          body: '{}',
          headers: { ...request.headers, 'content-type': type },
        });
    });

    if (target.operation.requestBody)
      test(`${name}: a body that is left out is refused where it is required, and only there`, async () => {
        const { body: _, headers: __, ...rest } = build(target);
        const status = await mustBeInOrder({ ...rest, headers: credentialsOf(target) });
        assert.equal(status === 400, target.operation.requestBody?.required, String(status));
      });

    test(`${name}: no mixture of hostile values is a failure`, async () => {
      const text = fc.oneof(
        fc.constantFrom(...hostileTexts),
        fc.string({ unit: 'binary', maxLength: 120 }),
        fc.string({ unit: fc.constantFrom('%', '_', '\\', "'", '"', '\0', '\ud83d', 'é', 'a') }),
      );
      const names = target.operation.parameters
        .filter((parameter) => parameter.in !== 'header')
        .map((parameter) => parameter.name);
      const parameters = fc.dictionary(
        fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...names, 'x') }, text),
        text,
        { maxKeys: 4 },
      );
      const value = fc.oneof(fc.constantFrom(...hostileValues), fc.jsonValue());
      const fields = fieldsOf(target);
      const body = target.operation.requestBody
        ? fc.oneof(
            fc.dictionary(fc.oneof(fc.constantFrom(...fields, 'x'), text), value, { maxKeys: 4 }),
            value,
          )
        : fc.constant(undefined);
      await fc.assert(
        fc.asyncProperty(parameters, body, async (chosen, json) => {
          await mustBeInOrder(build(target, { parameters: chosen, body: json }));
        }),
        { numRuns: Math.ceil(runs / oneIn) },
      );
    });
  }
}

/** Percent-encoded, lone surrogates too, which `encodeURIComponent` refuses. */
function encode(text: string): string {
  let encoded = '';
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    encoded +=
      code >= 0xd800 && code <= 0xdfff
        ? `%ED%${(0x80 + ((code >> 6) & 0x3f)).toString(16)}%${(0x80 + (code & 0x3f)).toString(16)}`
        : encodeURIComponent(character);
  }
  return encoded;
}
