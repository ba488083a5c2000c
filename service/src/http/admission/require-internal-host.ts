/**
 * Keeps web pages away from the internal listener. A page can point its own host name at this address (DNS rebinding),
 * and the browser then lets it read the responses; but the browser sends that name in the Host header.
 */
import { isIPv4, isIPv6 } from 'node:net';
import { ServiceError } from '../../errors.ts';

/** Throws `forbidden` for a name that is not in `allowedHosts`, which are lower-cased. IP addresses always pass. */
export function requireInternalHost(
  host: string | undefined,
  allowedHosts: ReadonlySet<string>,
): void {
  // Node.js requires it in HTTP/1.1, and every browser sends it.
  if (host === undefined) return;
  const name = host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
  const [, bracketed] = /^\[(.+)\]$/.exec(name) ?? [];
  const isAddress = bracketed === undefined ? isIPv4(name) : isIPv6(bracketed);
  if (isAddress || allowedHosts.has(name)) return;
  throw new ServiceError(
    'forbidden',
    'The host name in the Host header is not allowed; add it to INTERNAL_ALLOWED_HOSTS, or use the IP address.',
  );
}
