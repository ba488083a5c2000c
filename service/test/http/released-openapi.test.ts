/** Version 1 of the API only grows: nothing that was released may break (docs/reference/README.md#versioning). */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { version } from '../../src/runtime/version.ts';
import { findBreakingChanges } from '../support/find-breaking-changes.ts';
import { openApi, type OpenApiDocument, type Operation } from '../support/openapi-check.ts';
import { releasedOpenApiFile } from '../support/openapi-file.ts';

/** Of the last release, which alone changes them (docs/releasing.md). */
const recorded = {
  version: '1.0.0',
  sha256: '7f7cf23481ab3f52d389259f94e711a9bb1ceaeb8ea539ee59d1be3c7e6e858d',
};

const bytes = readFileSync(releasedOpenApiFile);
const released = JSON.parse(bytes.toString()) as OpenApiDocument & { info: { version: string } };

test('openapi.released.json is the document of the last release', () => {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  assert.deepEqual({ version: released.info.version, sha256 }, recorded);
  assert.equal(recorded.version, version, 'a release copies openapi.json: docs/releasing.md');
});

test('openapi.json breaks nothing of openapi.released.json', async () => {
  assert.deepEqual(await findBreakingChanges(released, openApi), []);
});

type Change = (document: OpenApiDocument) => void;

/** What breaks, and what is said of it. */
const breaking: Record<string, [Change, RegExp]> = {
  'an operation is removed': [
    ({ paths }) => {
      delete paths['/api/v1/webhooks']?.['get'];
    },
    /Operation `GET \/api\/v1\/webhooks` was removed/,
  ],
  'a response field is removed': [
    (document) => {
      const { properties, required } = schema(document, 'Organisation');
      delete properties['tag'];
      required.splice(required.indexOf('tag'), 1);
    },
    /Property `tag` of `Organisation` was removed|no longer required: .*`tag`/,
  ],
  'a response field has another type': [
    (document) => {
      Object.assign(field(document, 'Organisation', 'memberCount'), { type: 'string' });
    },
    /Type of `memberCount` widened/,
  ],
  'a response field becomes nullable': [
    (document) => {
      Object.assign(field(document, 'Organisation', 'name'), { type: ['string', 'null'] });
    },
    /Type of `name` widened from 'string' to 'string \| null'/,
  ],
  'a response field may be absent': [
    (document) => {
      const { required } = schema(document, 'Organisation');
      required.splice(required.indexOf('name'), 1);
    },
    /no longer required: .*`name`/,
  ],
  'a response field has a value that clients do not know': [
    (document) => {
      valuesOf(field(document, 'Attempt', 'trigger')).push('replay');
    },
    /Enum of `trigger` gained values: 'replay'/,
  ],
  'a response header is removed': [
    (document) => {
      const response = operation(document, '/api/v1/orgs').responses['200'] as { headers: object };
      response.headers = {};
    },
    /Response header `.+` was removed/,
  ],
  'a response status is removed': [
    (document) => {
      delete operation(document, '/api/v1/orgs/{slug}').responses['404'];
    },
    /Response `404` was removed/,
  ],
  'a success has another status': [
    (document) => {
      const { responses } = operation(document, '/api/v1/webhooks', 'post');
      responses['200'] = responses['201'] as object;
      delete responses['201'];
    },
    /Response `201` became `200`/,
  ],
  'a parameter becomes required': [
    (document) => {
      parameter(document, 'search').required = true;
    },
    /`search` query parameter became required/,
  ],
  'a parameter accepts one value less': [
    (document) => {
      valuesOf(parameter(document, 'sort').schema).pop();
    },
    /Enum lost values: '-memberCount'/,
  ],
  'a parameter accepts shorter text only': [
    (document) => {
      parameter(document, 'search').schema['maxLength'] = 50;
    },
    /`maxLength` changed from '100' to '50'/,
  ],
  'a repeated parameter accepts less': [
    (document) => {
      Object.assign(parameter(document, 'alliance').schema, {
        type: 'array',
        items: { type: 'string', maxLength: 10 },
      });
    },
    /`maxLength` changed from '80' to '10'/,
  ],
  'a facet is removed': [
    (document) => {
      parameter(document, 'facets').schema['pattern'] = '^(activity)(,(activity))*$';
    },
    /`pattern` changed from '.+' to '\^\(activity\)\(,\(activity\)\)\*\$'/,
  ],
  'pages become smaller': [
    (document) => {
      parameter(document, 'limit').schema['default'] = 10;
    },
    /the default changed from 20 to 10/,
  ],
  'the largest page becomes smaller': [
    (document) => {
      parameter(document, 'limit').schema['maximum'] = 50;
    },
    /Upper bound changed from '<= 100' to '<= 50'/,
  ],
  'a request needs a new field': [
    (document) => {
      const { properties, required } = schema(document, 'WebhookInput');
      properties['label'] = { type: 'string' };
      required.push('label');
    },
    /`WebhookInput` became required: `label`/,
  ],
  'a way to authenticate is removed': [
    (document) => {
      operation(document, '/api/v1/orgs').security.pop();
    },
    /Security requirement `apiKey` is no longer accepted/,
  ],
  'a value of a response field is removed': [
    (document) => {
      valuesOf(field(document, 'Organisation', 'status')).splice(1, 1);
    },
    /status: the states lost closed/,
  ],
  'an event is removed': [
    ({ webhooks }) => {
      delete webhooks['org.created'];
    },
    /Webhook `org\.created` was removed/,
  ],
  'a field of an event is removed': [
    (document) => {
      delete schema(document, 'Application').properties['applicantHandle'];
    },
    /Property `applicantHandle` of `application` was removed/,
  ],
};

/** They leave nothing for others to change. */
const breakingAlone: Record<string, [Change, RegExp]> = {
  'a path is renamed': [
    ({ paths }) => {
      paths['/api/v1/organisations'] = paths['/api/v1/orgs'] ?? {};
      delete paths['/api/v1/orgs'];
    },
    /Path `\/api\/v1\/orgs` was renamed to `\/api\/v1\/organisations`/,
  ],
  'a parameter is removed': [
    (document) => {
      operation(document, '/api/v1/orgs').parameters.splice(2, 1);
    },
    /`search` query parameter was removed/,
  ],
};

test('refused, and each is named', () => requireNamed(breaking));

for (const [name, each] of Object.entries(breakingAlone))
  test(`refused, and named: ${name}`, () => requireNamed({ [name]: each }));

/** One comparison for all: a process for each took seventeen seconds. */
async function requireNamed(changes: typeof breaking): Promise<void> {
  const revision = changed((document) => {
    for (const [change] of Object.values(changes)) change(document);
  });
  const found = await findBreakingChanges(released, revision);
  for (const [name, [, says]] of Object.entries(changes))
    assert.ok(
      found.some((line) => says.test(line)),
      `${name}: ${found.join('\n')}`,
    );
  const isNamed = (line: string) => Object.values(changes).some(([, says]) => says.test(line));
  assert.deepEqual(
    found.filter((line) => !isNamed(line)),
    [],
  );
}

const additions: Change[] = [
  (document) => {
    operation(document, '/api/v1/orgs').parameters.reverse();
    const alliance = parameter(document, 'alliance');
    alliance.schema = { type: 'array', items: alliance.schema, maxItems: 9 };
  },
  ({ paths }) => {
    paths['/api/v1/things'] = structuredClone(paths['/api/v1/orgs'] ?? {});
    const [added] = Object.values(paths['/api/v1/things']);
    assert.ok(added);
    added.operationId = 'listThings';
  },
  (document) => {
    operation(document, '/api/v1/orgs').parameters.push({
      ...structuredClone(parameter(document, 'search')),
      name: 'motto',
    });
  },
  (document) => {
    valuesOf(parameter(document, 'sort').schema).push('tag');
    parameter(document, 'search').schema['maxLength'] = 200;
  },
  (document) => {
    schema(document, 'WebhookInput').properties['label'] = { type: 'string' };
    schema(document, 'Application').properties['motto'] = { type: 'string' };
    const { properties, required } = schema(document, 'Organisation');
    properties['motto'] = { type: 'string' };
    required.push('motto');
  },
  (document) => {
    document.webhooks['org.closed'] = structuredClone(
      document.webhooks['org.created'] as (typeof document.webhooks)[string],
    );
  },
  (document) => {
    const { responses } = operation(document, '/api/v1/orgs/{slug}');
    responses['410'] = structuredClone(responses['404'] as object);
  },
  (document) => {
    Object.assign(field(document, 'Organisation', 'name'), { description: 'In other words.' });
  },
];

test('a state may gain values, and loses none', async () => {
  const status = (document: OpenApiDocument) =>
    field(document, 'Delivery', 'status') as { 'x-extensible-enum': string[] };
  assert.ok(status(openApi)['x-extensible-enum'].includes('failed'));
  assert.ok(!('enum' in status(openApi)));
  const more = structuredClone(openApi);
  status(more)['x-extensible-enum'].push('skipped');
  assert.deepEqual(await findBreakingChanges(openApi, more), []);
  assert.notDeepEqual(await findBreakingChanges(more, openApi), []);
});

test('accepted: new operations, parameters, fields, events, statuses and texts', async () => {
  const revision = changed((document) => {
    for (const change of additions) change(document);
  });
  assert.deepEqual(await findBreakingChanges(released, revision), []);
});

function changed(change: Change): OpenApiDocument {
  const document = structuredClone(released);
  change(document);
  assert.notDeepEqual(document, released);
  return document;
}

type ObjectSchema = { properties: Record<string, object>; required: string[] };

function schema({ components }: OpenApiDocument, name: string): ObjectSchema {
  return components.schemas[name] as ObjectSchema;
}

function field(document: OpenApiDocument, name: string, property: string): object {
  const found = schema(document, name).properties[property];
  assert.ok(found);
  return found;
}

function valuesOf(list: object): unknown[] {
  const { enum: values, 'x-extensible-enum': states } = list as Record<string, unknown[]>;
  return values ?? states ?? [];
}

function operation({ paths }: OpenApiDocument, path: string, method = 'get'): Operation {
  const found = paths[path]?.[method];
  assert.ok(found);
  return found;
}

function parameter(document: OpenApiDocument, name: string): Operation['parameters'][number] {
  const { parameters } = operation(document, '/api/v1/orgs');
  const found = parameters.find((each) => each.name === name);
  assert.ok(found);
  return found;
}
