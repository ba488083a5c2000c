/** Writes openapi.json, openapi.internal.json and openapi.portal.json from the routes: npm run openapi. */
import { writeFile } from 'node:fs/promises';
import { describeApi, describeInternalApi, describePortal } from './describe-api.ts';
import { internalOpenApiFile, openApiFile, portalOpenApiFile } from './openapi-file.ts';

await writeFile(openApiFile, await describeApi());
await writeFile(internalOpenApiFile, await describeInternalApi());
await writeFile(portalOpenApiFile, await describePortal());
