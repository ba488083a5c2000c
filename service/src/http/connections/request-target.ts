/**
 * Checks the request target and the Host field (RFC 9112 section 3.2) once, before routing. Routes, caches and
 * redirects see only the origin form: a path and a query.
 */
import type { IncomingMessage } from 'node:http';
import { invalid } from '../../errors.ts';

const slash = 47;
const absoluteForm = /^https?:\/\/([^/?#@]+)([/?#].*)?$/is;
/** An absolute form without a host: the router reports a bad URL, and `send-error.ts` responds. */
const unroutable = 'http://';

/**
 * Turns the absolute form into the origin form, for Fastify's `rewriteUrl`. The host of the target replaces the Host
 * field, as section 3.2.2 requires. User information in the target is refused (RFC 9110 section 4.2.4).
 */
export function toOriginForm(request: IncomingMessage): string {
  const { url = '' } = request;
  if (!hasHost(request)) return unroutable;
  if (url.charCodeAt(0) === slash) return url;
  const [, host, path = ''] = absoluteForm.exec(url) ?? [];
  if (host === undefined || !URL.canParse(`http://${host}`)) return unroutable;
  request.headers.host = host;
  return path.startsWith('/') ? path : `/${path}`;
}

/**
 * Node.js keeps the first Host field, but a proxy may use the last one. It would refuse a request without one itself, with no
 * body (`serverOptions`).
 */
export function hasHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts === 1 || (hosts === 0 && httpVersion !== '1.1');
}

/** Throws `validation_failed` for a query that is not percent-encoded UTF-8: a decoder would replace what it cannot read. */
export function requireDecodableQuery({ url }: { url: string }): void {
  const start = url.indexOf('?');
  if (start === -1 || !url.includes('%', start)) return;
  try {
    decodeURIComponent(url.slice(start));
  } catch {
    throw invalid({ path: 'query', message: 'must be percent-encoded UTF-8' });
  }
}
