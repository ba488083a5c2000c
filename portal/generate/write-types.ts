/** Writes portal/src/api/types.ts from openapi.portal.json: a part of npm run openapi. */
import { readFile, writeFile } from 'node:fs/promises';
import { renderTypes, type OpenApi } from '../../client/generate/render-types.ts';

const openApiFile = new URL('../../openapi.portal.json', import.meta.url);
const openApi = JSON.parse(await readFile(openApiFile, 'utf8')) as OpenApi;
const text = await renderTypes(openApi, { source: 'openapi.portal.json', isClosed: true });
await writeFile(new URL('../src/api/types.ts', import.meta.url), text);
