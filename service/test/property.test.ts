import assert from 'node:assert/strict';
import { METHODS } from 'node:http';
import { test } from 'node:test';
import fc from 'fast-check';
import { put, blueprint } from './support/directory.ts';
import { checkAnswer, openApi, type Operation } from './support/openapi-check.ts';
import { rawRequest, type RawRequest } from './support/raw-request.ts';
import { loopbackAllowed, startReceiver } from './support/receiver.ts';
import { startTestService } from './support/service.ts';

// Whatever is sent to an operation that openapi.json has: never a 5xx, never an answer outside its schema.
// A failure prints the seed; `fc.assert(…, { seed, path })` repeats it.

const service = await startTestService({ env: loopbackAllowed });
await put(service.database, 'alliances', [{ slug: 'northern-league', name: 'Northern League' }]);
await put(service.database, 'orgs', [
  { slug: 'acme-corporation', name: 'Acme', alliance: 'northern-league' },
]);
await put(service.database, 'blueprints', [blueprint({ slug: 'granite', key: 'granite' })]);
const receiver = await startReceiver();
const { body: created } = await service.call('/webhooks', {
  method: 'POST',
  json: { url: receiver.url },
});

type Target = { path: string; method: string; operation: Operation };
const targets: Target[] = Object.entries(openApi.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

const long = 'a'.repeat(3_000);
const hostileTexts = [
  '',
  ' ',
  '\t',
  '0',
  '-1',
  '01',
  '1.5',
  '1e309',
  'NaN',
  'true',
  'null',
  'undefined',
  '[]',
  '{}',
  '2147483649',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775809',
  '1'.repeat(400),
  'a'.repeat(81),
  'a'.repeat(101),
  'a'.repeat(201),
  long,
  'é'.repeat(100),
  '\0',
  'a\0b',
  '\ud800',
  'a\udfffb',
  '\uffff',
  '\u202e',
  '\u0301',
  '😀',
  'İ',
  "'",
  "' or 1=1 --",
  "'; drop table orgs; --",
  "\\'; select pg_sleep(9); --",
  '$1',
  '%',
  '_',
  '\\',
  '%%__\\\\',
  'a%00b',
  '../../../etc/passwd',
  '..',
  '.',
  '<script>alert(1)</script>',
  '\r\nX-Injected: 1',
  '__proto__',
  'constructor',
  'toString',
  'name,-name',
  'org.created',
  'webhook.test',
  'urn:uuid:0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f',
  '00000000-0000-0000-0000-000000000000',
  'http://[::1',
  'https://user:pass@example.org/',
  'file:///etc/passwd',
  'https://例え.テスト/',
];
const deep = (levels: number): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = level % 2 ? [value] : { a: value };
  return value;
};
const hostileValues: unknown[] = [
  ...hostileTexts,
  null,
  true,
  0,
  -1,
  0.5,
  2 ** 31,
  2 ** 63,
  1e308,
  [],
  [[]],
  {},
  { length: 1 },
  [null],
  ['org.created', 'org.created'],
  Array.from({ length: 60 }, (_, index) => `event.${index}`),
  ['\ud800', 'a\0'],
  deep(15),
  deep(200),
];
/** As they stand, between a `?` and the end. */
const brokenQueries = [
  '%',
  '%zz',
  '%ff=1',
  'page=%',
  'page=%c0%80',
  '&&&=',
  '?',
  'a[]=1',
  'page',
  '+=+',
];
const brokenSegments = [
  '%',
  '%zz',
  '%ff',
  '%c0%80',
  '%00',
  '%2e%2e',
  '%2F',
  ';',
  '~',
  'a%20b',
  ':slug',
  '*',
];
const brokenBodies = [
  '',
  ' ',
  '{',
  '}',
  'nul',
  '[1,',
  '{"a":}',
  "{'a':1}",
  '{"__proto__":{}}',
  '{"constructor":{"prototype":{}}}',
  '[',
  '['.repeat(30_000),
  '{"a":'.repeat(10_000),
  `{"url":${'['.repeat(30_000)}${']'.repeat(30_000)}}`,
  `{"url":"${'x'.repeat(70_000)}"}`,
  Buffer.from([0xff, 0xfe, 0x7b, 0x7d]),
  Buffer.from('{"url":"\xff"}', 'latin1'),
];
const mediaTypes = [
  'application/json',
  'application/json; charset=utf-8',
  'application/json; charset=utf-16',
  'application/problem+json',
  'text/plain',
  'application/xml',
  'multipart/form-data',
  'application/x-www-form-urlencoded',
  'x',
  '/',
  ',',
];

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

type Parts = { parameters: Record<string, string>; extra?: string; body?: unknown };

/** A request that the operation accepts, and what `parts` puts in the place of its own. */
function build(target: Target, parts: Partial<Parts> = {}): RawRequest {
  const { parameters = {}, extra } = parts;
  const path = target.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encode(parameters[name] ?? valid(target, name)),
  );
  const query = Object.entries(parameters)
    .filter(([name]) => !target.path.includes(`{${name}}`))
    .map(([name, value]) => `${encode(name)}=${encode(value)}`);
  if (extra !== undefined) query.push(extra);
  const body = 'body' in parts ? parts.body : validBody(target);
  return {
    method: target.method.toUpperCase(),
    path: query.length > 0 ? `${path}?${query.join('&')}` : path,
    headers: {
      authorization: `Bearer ${service.key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
}

function valid({ path, method }: Target, name: string): string {
  if (name !== 'slug') return method === 'delete' ? crypto.randomUUID() : created.data.id;
  if (path.includes('orgs')) return 'acme-corporation';
  return path.includes('alliances') ? 'northern-league' : 'granite';
}

function validBody({ operation }: Target): Record<string, unknown> | undefined {
  const { example } = operation.requestBody?.content['application/json'] ?? {};
  return example && { ...example, ...('url' in example ? { url: receiver.url } : {}) };
}

function fieldsOf({ operation }: Target): string[] {
  const reference = operation.requestBody?.content['application/json'].schema.$ref;
  const schema = reference && openApi.components.schemas[reference.split('/').at(-1) ?? ''];
  return schema ? Object.keys(schema['properties'] as object) : [];
}

async function mustBeInOrder(request: RawRequest): Promise<number> {
  const answer = await rawRequest(service.url, request);
  const what = `${request.method} ${request.path.slice(0, 200)} ${String(request.body).slice(0, 200)}`;
  assert.ok(answer.status < 500, `${answer.status} ${what}`);
  assert.match(answer.headers['x-request-id'] as string, /^[A-Za-z0-9._:-]{1,128}$/, what);
  if (answer.text === '') {
    assert.ok([204, 304].includes(answer.status) || request.method === 'HEAD', `empty: ${what}`);
    return answer.status;
  }
  assert.match(answer.headers['content-type'] ?? '', /^application\/json/, what);
  const pathname = request.path.split('?')[0] ?? '';
  checkAnswer(String(request.method), pathname, answer.status, JSON.parse(answer.text));
  return answer.status;
}

for (const target of targets) {
  const name = target.operation.operationId;

  test(`${name}: what is valid is accepted, or refused as it says`, async () => {
    const status = await mustBeInOrder(build(target));
    assert.ok([200, 201, 202, 404, 409].includes(status), `${status}`);
  });

  if (target.operation.parameters.length > 0)
    test(`${name}: each parameter takes every hostile value without a failure`, async () => {
      for (const { name: parameter, in: place } of target.operation.parameters) {
        for (const value of hostileTexts) {
          if (place === 'header') {
            const request = build(target);
            const header = Buffer.from(value.replaceAll(/[^\t\x20-\x7e]/g, '?')).toString('latin1');
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
        assert.equal(await mustBeInOrder(twice), 400, `${parameter} repeated`);
      }
      for (const segment of target.path.includes('{') ? brokenSegments : [])
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
        [400, 404].includes(await mustBeInOrder(build(target, { parameters: { [unknown]: '1' } }))),
        unknown,
      );
    for (const extra of brokenQueries) await mustBeInOrder(build(target, { extra }));
  });

  if (target.operation.requestBody)
    test(`${name}: each field of the body takes every hostile value without a failure`, async () => {
      for (const field of fieldsOf(target))
        for (const value of hostileValues)
          await mustBeInOrder(build(target, { body: { ...validBody(target), [field]: value } }));
      for (const body of hostileValues) await mustBeInOrder(build(target, { body }));
      for (const unknown of ['unknown', '__proto__x', 'URL', ''])
        assert.equal(
          await mustBeInOrder(build(target, { body: { ...validBody(target), [unknown]: 1 } })),
          400,
        );
    });

  test(`${name}: a body that is broken, too large or of another type is no failure`, async () => {
    const request = build(target);
    for (const body of brokenBodies)
      await mustBeInOrder({
        ...request,
        body,
        headers: { ...request.headers, 'content-type': 'application/json' },
      });
    for (const type of mediaTypes)
      await mustBeInOrder({
        ...request,
        body: '{}',
        headers: { ...request.headers, 'content-type': type },
      });
  });

  if (target.operation.requestBody)
    test(`${name}: a body that is left out is refused where it is required, and only there`, async () => {
      const { body: _, headers, ...rest } = build(target);
      const { authorization } = headers as { authorization: string };
      const status = await mustBeInOrder({ ...rest, headers: { authorization } });
      assert.equal(status === 400, target.operation.requestBody?.required, String(status));
    });

  test(`${name}: every other method is 405, and HEAD and OPTIONS are answered`, async () => {
    const known = Object.keys(openApi.paths[target.path] ?? {});
    for (const method of METHODS) {
      // CONNECT names no address.
      if (method === 'CONNECT' || known.includes(method.toLowerCase())) continue;
      const status = await mustBeInOrder({ ...build(target), method });
      const head = method === 'HEAD' && known.includes('get');
      const asGet = head ? await mustBeInOrder({ ...build(target), method: 'GET' }) : 405;
      assert.equal(status, method === 'OPTIONS' ? 204 : asGet, method);
    }
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
          fc.dictionary(fc.oneof(fc.constantFrom(...fields), text), value, { maxKeys: 4 }),
          value,
        )
      : fc.constant(undefined);
    await fc.assert(
      fc.asyncProperty(parameters, body, async (chosen, json) => {
        await mustBeInOrder(build(target, { parameters: chosen, body: json }));
      }),
      { numRuns: 60 },
    );
  });
}

test('after all of it the directory is what it was', async () => {
  for (const path of ['/orgs', '/alliances', '/blueprints']) {
    const { status, body } = await service.call(path);
    assert.deepEqual([status, body.pagination.total], [200, 1], path);
  }
});
