/** Request targets, RFC 9112 section 3.2. Routes, caches and redirects know the origin form only: a path and a query. */
import type { IncomingMessage } from 'node:http';

const slash = 47;
const absoluteForm = /^https?:\/\/([^/?#@]+)([/?#].*)?$/is;
/** An absolute form without a host: the router answers it with 404. */
const unroutable = 'http://';

/**
 * Turns the absolute form into the origin form, for Fastify's `rewriteUrl`. The host of the target replaces the `Host`
 * field, as RFC 9112 section 3.2.2 asks. User information in the target is refused (RFC 9110 section 4.2.4).
 */
export function toOriginForm(request: IncomingMessage): string {
  const { url = '' } = request;
  if (url.charCodeAt(0) === slash) return url;
  const [, host, path = ''] = absoluteForm.exec(url) ?? [];
  if (host === undefined || !URL.canParse(`http://${host}`)) return unroutable;
  request.headers.host = host;
  return path.startsWith('/') ? path : `/${path}`;
}
