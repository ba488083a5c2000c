/**
 * Counts requests in windows, by default of a minute, in this process's memory. `@fastify/rate-limit` does the same
 * through a chain of promises, which cost a cached read a tenth of its time (docs/decisions/0003-reads.md).
 */
import { randomInt } from 'node:crypto';
import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Usage = {
  remaining: number;
  exceeded: boolean;
  /** When the window ends, in milliseconds since 1970. */
  resetAt: number;
};
type Window = { count: number; resetAt: number };
type Options = {
  /**
   * How many buckets get a separate window before new ones share. Infinity for ids of stored rows: the database bounds
   * their number.
   */
  bucketsMax?: number;
  now?: () => number;
};

export const minuteMs = 60_000;
/** Per window. Together with the shared buckets and the previous window, about 7 MB. */
const bucketsMaxDefault = 20_000;
/** An attacker would need this many times the limit to use up all shared buckets. */
const sharedBucketsMax = 8_192;

/**
 * No bucket is dropped before its window ends; otherwise a flood of other addresses would free a caller who is limited.
 * At capacity, the addresses of one network share a bucket instead: a /24 of IPv4, a /56 of IPv6. Networks are hashed
 * into a fixed number of shared buckets, which bounds the memory.
 */
export function createRequestCounter(
  limit: number,
  windowMs = minuteMs,
  { bucketsMax = bucketsMaxDefault, now = Date.now }: Options = {},
): (bucket: string) => Usage {
  // Shared buckets have numbers as keys. A window that began before the last rotation ends before the next one.
  let current = new Map<string | number, Window>();
  let previous = new Map<string | number, Window>();
  let rotatesAt = 0;
  const seed = randomInt(2 ** 32);

  return (bucket) => {
    const at = now();
    if (at >= rotatesAt) rotate(at);
    const window = find(bucket, at) ?? open(bucket, at);
    window.count += 1;
    const { count, resetAt } = window;
    return { remaining: Math.max(0, limit - count), exceeded: count > limit, resetAt };
  };

  function rotate(at: number): void {
    previous = at < rotatesAt + windowMs ? current : new Map();
    current = new Map();
    rotatesAt = at + windowMs;
  }

  function find(key: string | number, at: number): Window | null {
    const window = current.get(key) ?? previous.get(key);
    // A window that ends later than a new one would began before the clock was set back.
    return window !== undefined && window.resetAt > at && window.resetAt <= at + windowMs
      ? window
      : null;
  }

  function open(bucket: string, at: number): Window {
    const shared = sharedKey(bucket, seed);
    const running = find(shared, at);
    if (running) return running;
    const window = { count: 0, resetAt: at + windowMs };
    current.set(current.size < bucketsMax ? bucket : shared, window);
    return window;
  }
}

/**
 * One subscriber has a whole /64 of IPv6 addresses, so they count as one. So do all who have none: Fastify's types do not say that a
 * client that has reset its connection has no address.
 */
export function addressBucket(given: string | undefined): string {
  const address = given === undefined ? '' : withoutPort(given);
  if (!isIPv6(address)) return address;
  const parsed = ipaddr.parse(address) as ipaddr.IPv6;
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString();
  return parsed.parts.slice(0, 4).join(':');
}

/** Some proxies write the client's port, too, which each of its connections has another of. */
function withoutPort(address: string): string {
  const [, inBrackets, ipv4] = /^(?:\[(.*)\](?::\d+)?|([\d.]+):\d+)$/.exec(address) ?? [];
  return inBrackets ?? ipv4 ?? address;
}

/** FNV-1a. The seed is secret; otherwise an attacker could look for networks that share a bucket with a victim. */
function sharedKey(bucket: string, seed: number): number {
  const network = networkOf(bucket);
  let hash = seed;
  for (let index = 0; index < network.length; index += 1)
    hash = Math.imul(hash ^ network.charCodeAt(index), 0x01000193);
  // The upper bits depend on every character.
  return (hash >>> 16) % sharedBucketsMax;
}

/** Returns the /24 or /56 of an address bucket; any other bucket is returned unchanged. */
function networkOf(bucket: string): string {
  const [, network24] = /^(\d+\.\d+\.\d+)\.\d+$/.exec(bucket) ?? [];
  if (network24 !== undefined) return network24;
  const [, network48, part = ''] = /^(\d+:\d+:\d+):(\d+)$/.exec(bucket) ?? [];
  return network48 === undefined ? bucket : `${network48}:${Number(part) >> 8}`;
}

/** For `Retry-After`: whole seconds, at least one. */
export function secondsUntil(timeMs: number): number {
  return Math.max(1, Math.ceil((timeMs - Date.now()) / 1000));
}
