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
