/** Writes client/src/types.ts and the samples of the client's command from openapi.json, as part of npm run openapi. */
import { readFile, writeFile } from 'node:fs/promises';
import { renderSamples } from './render-samples.ts';
import { renderTypes, type OpenApi } from './render-types.ts';

const openApiFile = new URL('../../openapi.json', import.meta.url);
const openApi = JSON.parse(await readFile(openApiFile, 'utf8')) as OpenApi;
await writeFile(new URL('../src/types.ts', import.meta.url), await renderTypes(openApi));
await writeFile(
  new URL('../src/command/samples.ts', import.meta.url),
  await renderSamples(openApi),
);
