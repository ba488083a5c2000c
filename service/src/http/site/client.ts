/**
 * Serves the client of this version below /client: the npm package, one ES module for browsers and Deno, and a page that
 * says how to use them. npm builds the files from `client/` on installation. Why: docs/decisions/0031-release.md.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { FastifyInstance, FastifyReply, RouteHandlerMethod } from 'fastify';
import { rejectOtherMethods } from '../methods.ts';

export type ClientDependencies = { publicUrl: string; version: string };

const built = new URL('../../../../client/download/', import.meta.url);
const methods = ['GET', 'HEAD'];

/** Pages of any origin may import the module. */
const crossOriginHeaders = {
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
};

export function registerClient(
  app: FastifyInstance,
  { publicUrl, version }: ClientDependencies,
  folder = built,
): void {
  const tarball = `orgdir-client-${version}.tgz`;
  const module = `orgdir-client-${version}.js`;
  const address = `${publicUrl.replace(/\/$/, '')}/client/`;

  serve('', async (reply) => {
    const integrity = integrityOf(await readFile(new URL(module, folder)));
    const urls = { tarballUrl: `${address}${tarball}`, moduleUrl: `${address}${module}` };
    const page = renderPage({ ...urls, integrity, version, publicUrl });
    return reply.header('cache-control', 'no-cache').type('text/plain; charset=utf-8').send(page);
  });
  serve(`/${tarball}`, (reply) => sendFile(reply, tarball, 'application/gzip'));
  serve(`/${module}`, (reply) => sendFile(reply, module, 'text/javascript; charset=utf-8'));

  function serve(path: string, send: (reply: FastifyReply) => Promise<FastifyReply>): void {
    const url = `/client${path}`;
    const handler: RouteHandlerMethod = async (_request, reply) =>
      send(reply.headers(crossOriginHeaders)).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return sendNotBuilt(reply);
        throw error;
      });
    rejectOtherMethods(app, url, new Set(methods), false);
    app.route({ method: methods, url, exposeHeadRoute: false, schema: { hide: true }, handler });
  }

  async function sendFile(reply: FastifyReply, name: string, type: string): Promise<FastifyReply> {
    const bytes = await readFile(new URL(name, folder));
    // The name has the version, and a release never changes.
    return reply
      .header('cache-control', 'public, max-age=31536000, immutable')
      .type(type)
      .send(bytes);
  }
}

function integrityOf(bytes: Buffer): string {
  return `sha384-${createHash('sha384').update(bytes).digest('base64')}`;
}

type Page = {
  tarballUrl: string;
  moduleUrl: string;
  integrity: string;
  version: string;
  publicUrl: string;
};

function renderPage({ tarballUrl, moduleUrl, integrity, version, publicUrl }: Page): string {
  return `The client of this service, version ${version}

Node.js 20 or later, with types for TypeScript. Samples are ES modules, which need "type": "module" in package.json:

  npm init -y && npm pkg set type=module
  npm install ${tarballUrl}

  import { createClient } from "@orgdir/client";

  const client = createClient({ baseUrl: '${publicUrl}', apiKey: 'odk_…' });
  for await (const org of client.orgs.all()) console.log(org.name);

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

Deno:

  import { createClient } from "${moduleUrl}";

The service serves the client of its own version. Keep a copy of the file if your builds must not depend on that.
`;
}

function sendNotBuilt(reply: FastifyReply): FastifyReply {
  return reply
    .code(503)
    .headers({ 'cache-control': 'no-store', 'retry-after': '60' })
    .type('text/plain; charset=utf-8')
    .send('The client is not built: run `npm run build -w client`.\n');
}
