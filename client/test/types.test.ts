import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { renderSamples } from '../generate/render-samples.ts';
import { renderTypes, type OpenApi } from '../generate/render-types.ts';

const read = (path: string) => readFile(new URL(path, import.meta.url), 'utf8');

test('the committed types and samples match openapi.json (npm run openapi writes them)', async () => {
  const openApi = JSON.parse(await read('../../openapi.json')) as OpenApi;
  assert.equal(await renderTypes(openApi), await read('../src/types.ts'));
  assert.equal(await renderSamples(openApi), await read('../src/command/samples.ts'));
});
