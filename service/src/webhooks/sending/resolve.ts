/**
 * Resolves a host name to addresses: the hosts file first, then A and AAAA from the name servers. Every resolution has
 * its own channel, so that none waits for another. Checks no address; `guard.ts` does.
 */
import { Resolver } from 'node:dns/promises';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';

type Resolution =
  | { kind: 'addresses'; addresses: string[] }
  /** The name servers report that there is no address, or an error. */
  | { kind: 'dns' }
  /** No name server responded. */
  | { kind: 'timeout' };

/** `host` has no brackets and no final dot. Never rejects. Abort the signal to stop the look-up. */
export type Resolve = (host: string, signal: AbortSignal) => Promise<Resolution>;

export type ResolveOptions = {
  /** Name servers to use instead of those in `/etc/resolv.conf`. */
  servers?: string[];
  hostsPath?: string;
  /** How long to wait for the slower of A and AAAA after the other has returned an address. */
  familyWaitMs: number;
};

/** The time until the query goes to another name server, or to the same one again; it doubles with each round. */
const queryTimeoutMs = 1_000;
const queryTimeoutMaxMs = 4_000;
/** Node's default. With one silent name server it takes eleven seconds; callers that give up sooner cancel. */
const triesMax = 4;

export function createResolve({ servers, hostsPath, familyWaitMs }: ResolveOptions): Resolve {
  const hosts = openHostsFile(hostsPath);
  return async (host, signal) => {
    const name = host.toLowerCase();
    const known = hosts.addressesOf(name);
    if (known.length > 0) return { kind: 'addresses', addresses: known };
    return queryServers(name, servers, familyWaitMs, signal);
  };
}

async function queryServers(
  name: string,
  servers: string[] | undefined,
  familyWaitMs: number,
  signal: AbortSignal,
): Promise<Resolution> {
  const resolver = new Resolver({
    timeout: queryTimeoutMs,
    maxTimeout: queryTimeoutMaxMs,
    tries: triesMax,
  });
  if (servers) resolver.setServers(servers);
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel);
  try {
    return await queryBothFamilies(resolver, name, familyWaitMs);
  } finally {
    signal.removeEventListener('abort', cancel);
    cancel();
  }
}

/** `resolve4` and `resolve6` query the name as given and append no search domain. */
async function queryBothFamilies(
  resolver: Resolver,
  name: string,
  familyWaitMs: number,
): Promise<Resolution> {
  const ipv4 = resolveFamily(resolver.resolve4(name));
  const ipv6 = resolveFamily(resolver.resolve6(name));
  const first = await Promise.race([ipv4, ipv6]);
  // A name server that stays silent about one family must not block the other.
  const timer =
    first.addresses.length > 0 ? setTimeout(() => resolver.cancel(), familyWaitMs) : undefined;
  const results = [await ipv4, await ipv6];
  clearTimeout(timer);
  const addresses = results.flatMap((result) => result.addresses);
  if (addresses.length > 0) return { kind: 'addresses', addresses };
  return { kind: results.some(({ silent }) => silent) ? 'timeout' : 'dns' };
}

type FamilyResult = { addresses: string[]; silent: boolean };

async function resolveFamily(result: Promise<string[]>): Promise<FamilyResult> {
  try {
    return { addresses: await result, silent: false };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { addresses: [], silent: code === 'ETIMEOUT' || code === 'ECANCELLED' };
  }
}

type HostsFile = { addressesOf(name: string): string[] };

/** Reads synchronously: the file is small, is kept in memory, and one system call shows whether it changed. */
function openHostsFile(path = '/etc/hosts'): HostsFile {
  let names = new Map<string, string[]>();
  let seen = '';

  function refresh(): void {
    const { mtimeMs = 0, size = 0, ino = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
    const state = `${mtimeMs} ${size} ${ino}`;
    if (state === seen) return;
    names = size === 0 ? new Map() : parseHosts(readFileSync(path, 'utf8'));
    seen = state;
  }

  return {
    addressesOf(name) {
      try {
        refresh();
      } catch {
        // The file is unreadable or gone, so the last known names stay in use.
      }
      return names.get(name) ?? [];
    },
  };
}

function parseHosts(text: string): Map<string, string[]> {
  const names = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...aliases] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (!isIP(address)) continue;
    for (const alias of aliases) {
      const name = alias.toLowerCase().replace(/\.$/, '');
      names.set(name, [...new Set([...(names.get(name) ?? []), address])]);
    }
  }
  return names;
}
