/** Writes openapi.json and openapi.internal.json from the routes: npm run openapi. */
import { writeFile } from 'node:fs/promises';
import { describeApi } from './describe-api.ts';
import { describeInternalApi } from './describe-internal-api.ts';
import { internalOpenApiFile, openApiFile } from './openapi-file.ts';

await writeFile(openApiFile, await describeApi());
await writeFile(internalOpenApiFile, await describeInternalApi());
