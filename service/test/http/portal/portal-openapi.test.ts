import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describePortal } from '../../support/describe-api.ts';
import { portalOpenApi } from '../../support/openapi-check.ts';
import { portalOpenApiFile } from '../../support/openapi-file.ts';
import { testDescription } from '../../support/openapi-rules.ts';
import { callPortal } from '../../support/portal.ts';
import { startTestService, testPublicUrl } from '../../support/service.ts';

testDescription({
  file: portalOpenApiFile,
  document: portalOpenApi,
  describe: describePortal,
  open: [
    'openapi.json',
    'sign-in-options',
    'sign-in',
    'sign-in/provider',
    'sign-in/passkey',
    'sign-in/passkey/options',
    'sign-out',
    'password-links',
    'password-links/check',
    'password',
    'first-account',
    'first-account/check',
    'invitations/check',
    'invitations/sign-up',
  ].map((path) => `/portal/api/${path}`),
  statuses: { all: ['400', '429', '500', '503'], keyed: ['401'] },
  security: [{ session: [] }],
});

test('the portal serves the committed OpenAPI document', async () => {
  const { status, body } = await callPortal(await startTestService(), '/openapi.json');
  assert.equal(status, 200);
  assert.deepEqual(body.servers, [{ url: testPublicUrl }]);
  assert.deepEqual(body.paths, JSON.parse(JSON.stringify(portalOpenApi.paths)));
  assert.deepEqual(body.components, portalOpenApi.components);
});
