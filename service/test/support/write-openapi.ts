/** Writes openapi.json from the routes: npm run openapi. */
import { writeFile } from 'node:fs/promises';
import { describeApi } from './describe-api.ts';
import { openApiFile } from './openapi-file.ts';

await writeFile(openApiFile, await describeApi());
