/** Writes client/dist, the package, and client/download, what the service serves: npm run build -w client. */
import { fileURLToPath } from 'node:url';
import { buildPackage } from './build-package.ts';
import { writeDownloads } from './write-downloads.ts';

const dist = fileURLToPath(new URL('../dist', import.meta.url));
await buildPackage(dist);
await writeDownloads(dist, fileURLToPath(new URL('../download', import.meta.url)));
