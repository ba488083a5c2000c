/**
 * Serves the page, and proxies its requests to the directory: the page has no key, and this server adds one. It forwards
 * only what the page needs.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname } from 'node:path';

const settings = {
  url: new URL(setting('ORGDIR_URL')),
  key: setting('ORGDIR_API_KEY'),
  host: setting('HOST', '127.0.0.1'),
  port: Number(setting('PORT', '8080')),
};
const page = new URL('public/', import.meta.url);
/** The client package. In this repository, `npm run build -w client` builds it. */
const client = new URL(setting('CLIENT_FOLDER', '../../client/dist/'), import.meta.url);

const contentTypes: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};
const securityHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};
const timeoutMs = 10_000;

const server = createServer((request, response) => {
  handle(request, response).catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    if (!response.headersSent) response.writeHead(502, securityHeaders);
    response.end();
  });
});
server.listen(settings.port, settings.host);
await once(server, 'listening');
console.log(`http://${settings.host}:${(server.address() as AddressInfo).port}/`);

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, search } = new URL(`http://host${request.url}`);
  if (request.method !== 'GET') return end(response, 405);
  if (pathname === '/api/v1/blueprints') return proxy(request, response, search);
  const file = fileOf(pathname);
  const content = file && (await readFile(file).catch(() => null));
  if (!content) return end(response, 404);
  const contentType = contentTypes[extname(file.pathname)] ?? 'application/octet-stream';
  end(response, 200, { 'content-type': contentType, 'cache-control': 'no-cache' }, content);
}

/** Accepts only single names, so that no path leaves the folders. */
function fileOf(pathname: string): URL | null {
  const name = pathname === '/' ? '/index.html' : pathname;
  if (/^\/[a-z-]+\.(html|css|js)$/.test(name)) return new URL(`.${name}`, page);
  const ofClient = /^\/client\/([a-z-]+\.js)$/.exec(name)?.[1];
  return ofClient ? new URL(ofClient, client) : null;
}

/** Forwards the status and the tag too, so that the browser can revalidate. */
async function proxy(request: IncomingMessage, response: ServerResponse, search: string) {
  const address = new URL(
    `${settings.url.pathname.replace(/\/$/, '')}/api/v1/blueprints${search}`,
    settings.url,
  );
  const { 'if-none-match': tag } = request.headers;
  const upstream = await fetch(address, {
    headers: { authorization: `Bearer ${settings.key}`, ...(tag && { 'if-none-match': tag }) },
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  });
  const forwarded = ['content-type', 'etag', 'cache-control', 'retry-after', 'x-request-id'];
  const headers = forwarded.flatMap((name) => {
    const value = upstream.headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  end(
    response,
    upstream.status,
    Object.fromEntries(headers),
    Buffer.from(await upstream.arrayBuffer()),
  );
}

function end(
  response: ServerResponse,
  status: number,
  headers: Record<string, string> = {},
  content?: Buffer,
): void {
  response.writeHead(status, { ...securityHeaders, ...headers }).end(content);
}

function setting(name: string, fallback?: string): string {
  const value = process.env[name] ?? fallback;
  if (!value) throw new Error(`${name} is not set; README.md describes all settings`);
  return value;
}
