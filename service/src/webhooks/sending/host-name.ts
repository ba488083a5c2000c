/** Reads what a URL's host says by itself, without name resolution. Pure. */
import { isIP } from 'node:net';

/** RFC 6761: `localhost` and everything under it is this machine, whatever a name server says. */
const loopbackAddresses = ['127.0.0.1', '::1'];

/** Normalises a host from `URL`: removes an IPv6 address's brackets and a name's final dot. */
export function normaliseHost(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

export function isLoopbackName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

/** The addresses that the host itself contains; null for a name that has to be resolved. */
export function literalAddresses(host: string): string[] | null {
  if (isLoopbackName(host)) return loopbackAddresses;
  return isIP(host) ? [host] : null;
}
