/** Reads what a URL's host says by itself, without name resolution. */
import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';

/** Caches the hosts of URLs, because each attempt needs one. */
const hosts = new LRUCache<string, string>({ max: 2_000 });

/** The host and port of a URL, the only part that may be shown. Empty for an invalid URL. */
export function urlHost(url: string): string {
  let host = hosts.get(url);
  if (host === undefined) {
    host = URL.parse(url)?.host ?? '';
    hosts.set(url, host);
  }
  return host;
}

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
