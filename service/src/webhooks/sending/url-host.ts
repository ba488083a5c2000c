import { LRUCache } from 'lru-cache';

/** Of addresses in use: one is asked for at each of its attempts. */
const hosts = new LRUCache<string, string>({ max: 2_000 });

/** The host of an address, with its port: all of it that may be shown. Empty for an address that is none. */
export function urlHost(url: string): string {
  let host = hosts.get(url);
  if (host === undefined) {
    host = URL.parse(url)?.host ?? '';
    hosts.set(url, host);
  }
  return host;
}
