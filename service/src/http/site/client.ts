/**
 * Serves the client of this version below /client: the npm package, one ES module for browsers and Deno with its types, and a
 * text that says how to use them, for which browsers are led to the documentation. npm builds the files from `client/` on
 * installation. Why: docs/decisions/0031-releases-and-upgrades.md.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { entryOf, publicEntry, type Entry } from '../responses/response-cache.ts';
import { sendEntry } from '../responses/send-entry.ts';
import { basePathOf, sendNotBuilt, servePage } from './page.ts';

export type ClientDependencies = { publicUrl: string; version: string };

const built = new URL('../../../../client/download/', import.meta.url);

const notBuilt = 'The client is not built: run `npm run build -w client`.';
/** Their names have the version, and a release never changes. */
const filesCacheControl = 'public, max-age=31536000, immutable';
/** Pages of any origin may import the module. */
const crossOriginHeaders = {
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
};

type Send = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

export function registerClient(
  app: FastifyInstance,
  { publicUrl, version }: ClientDependencies,
  folder = built,
): void {
  const tarball = `orgdir-client-${version}.tgz`;
  const module = `orgdir-client-${version}.js`;
  const types = `orgdir-client-${version}.d.ts`;
  const address = `${publicUrl.replace(/\/$/, '')}/client/`;

  const readText = (file: string) =>
    once(async () => publicEntry(await readFile(new URL(file, folder))));
  const readModule = readText(module);
  const readPage = once(async () => {
    const integrity = integrityOf((await readModule()).body);
    const urls = {
      tarballUrl: `${address}${tarball}`,
      moduleUrl: `${address}${module}`,
      typesUrl: `${address}${types}`,
    };
    return publicEntry(Buffer.from(renderPage({ ...urls, integrity, version, publicUrl })));
  });
  const readTarball = once(async () => entryOf(0, await readFile(new URL(tarball, folder))));

  serve('', async (request, reply) => {
    reply.header('vary', 'Accept');
    if (request.headers.accept?.includes('text/html'))
      return reply.redirect(`${basePathOf(publicUrl)}/docs/client`, 302);
    const entry = await readPage();
    return sendEntry(request, reply, entry, 'no-cache', 'text/plain; charset=utf-8');
  });
  serve(`/${tarball}`, async (request, reply) => {
    const entry = await readTarball();
    return sendEntry(request, reply, entry, filesCacheControl, 'application/gzip');
  });
  serveText(module, readModule, 'text/javascript; charset=utf-8');
  serveText(types, readText(types), 'application/typescript; charset=utf-8');

  function serveText(file: string, read: () => Promise<Entry>, type: string): void {
    serve(`/${file}`, async (request, reply) =>
      sendEntry(request, reply, await read(), filesCacheControl, type),
    );
  }

  function serve(path: string, send: Send): void {
    const url = `/client${path}`;
    const handler: Send = async (request, reply) =>
      send(request, reply.headers(crossOriginHeaders)).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return sendNotBuilt(reply, notBuilt);
        throw error;
      });
    servePage(app, url, handler);
  }
}

/** Keeps what was read: responses that wait for their clients share it. */
function once(read: () => Promise<Entry>): () => Promise<Entry> {
  let entry: Promise<Entry> | undefined;
  return async () => {
    try {
      return await (entry ??= read());
    } catch (error) {
      entry = undefined;
      throw error;
    }
  };
}

function integrityOf(bytes: Buffer): string {
  return `sha384-${createHash('sha384').update(bytes).digest('base64')}`;
}

type Page = {
  tarballUrl: string;
  moduleUrl: string;
  typesUrl: string;
  integrity: string;
  version: string;
  publicUrl: string;
};

function renderPage({
  tarballUrl,
  moduleUrl,
  typesUrl,
  integrity,
  version,
  publicUrl,
}: Page): string {
  return `The client of this service, version ${version}

Node.js 20 or later, with types for TypeScript. Samples are ES modules, which need "type": "module" in package.json:

  npm init -y && npm pkg set type=module
  npm install ${tarballUrl}

  import { createClient } from "@orgdir/client";

  const client = createClient({ baseUrl: '${publicUrl}', apiKey: 'odk_…' });
  for await (const org of client.orgs.all()) console.log(org.name);

Receive the events of an app on your machine, with a key that has the scope read:events:

  export ORGDIR_API_KEY=odk_…
  npx --yes ${tarballUrl} listen --forward-to http://localhost:4000/hooks

Browsers, without npm. They refuse a module that does not match its integrity hash:

  <script type="importmap">
    {
      "imports": { "@orgdir/client": "${moduleUrl}" },
      "integrity": {
        "${moduleUrl}": "${integrity}"
      }
    }
  </script>
  <script type="module">
    import { createClient } from "@orgdir/client";

    const client = createClient({ baseUrl: '${publicUrl}' });
    console.log(await client.status());
  </script>

Deno, which finds the types next to the module, in ${typesUrl}:

  import { createClient } from "${moduleUrl}";

The service serves the client of its own version. Keep a copy of the files if your builds must not depend on that.
`;
}
