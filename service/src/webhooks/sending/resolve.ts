/**
 * From a host's name to its addresses: the hosts file first, then A and AAAA from the name servers. Every
 * resolution has a channel of its own, so that none waits for another. Checks nothing: that is `guard.ts`.
 */
import { Resolver } from 'node:dns/promises';
import { openHostsFile } from './hosts-file.ts';

type Resolution =
  | { kind: 'addresses'; addresses: string[] }
  /** The name servers say that there is no address, or that they cannot tell. */
  | { kind: 'dns' }
  /** No name server answered. */
  | { kind: 'timeout' };

/** `host` has no brackets and no final dot. Never rejects. Whoever no longer waits aborts the signal. */
export type Resolve = (host: string, signal: AbortSignal) => Promise<Resolution>;

export type ResolveOptions = {
  /** Instead of those in `/etc/resolv.conf`. */
  servers?: string[];
  hostsPath?: string;
  /** How long the slower of A and AAAA is waited for, once the other has given an address. */
  familyWaitMs: number;
};

/** Another name server, or the same once more, is asked after this long; the time doubles with each round. */
const queryTimeoutMs = 1_000;
const queryTimeoutMaxMs = 4_000;
/** Node's default: eleven seconds of silence with one name server. Who no longer waits cancels before. */
const triesMax = 4;

export function createResolve({ servers, hostsPath, familyWaitMs }: ResolveOptions): Resolve {
  const hosts = openHostsFile(hostsPath);
  return async (host, signal) => {
    const name = host.toLowerCase();
    const known = hosts.addressesOf(name);
    if (known.length > 0) return { kind: 'addresses', addresses: known };
    return askServers(name, servers, familyWaitMs, signal);
  };
}

async function askServers(
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
    return await askBothFamilies(resolver, name, familyWaitMs);
  } finally {
    signal.removeEventListener('abort', cancel);
    cancel();
  }
}

/** `resolve4` and `resolve6` ask for the name as it stands: no search domain is put behind it. */
async function askBothFamilies(
  resolver: Resolver,
  name: string,
  familyWaitMs: number,
): Promise<Resolution> {
  const ipv4 = settle(resolver.resolve4(name));
  const ipv6 = settle(resolver.resolve6(name));
  const first = await Promise.race([ipv4, ipv6]);
  // A name server that keeps silent about one family must not keep the other from being used.
  const timer =
    first.addresses.length > 0 ? setTimeout(() => resolver.cancel(), familyWaitMs) : undefined;
  const answers = [await ipv4, await ipv6];
  clearTimeout(timer);
  const addresses = answers.flatMap((answer) => answer.addresses);
  if (addresses.length > 0) return { kind: 'addresses', addresses };
  return { kind: answers.some(({ silent }) => silent) ? 'timeout' : 'dns' };
}

type FamilyAnswer = { addresses: string[]; silent: boolean };

async function settle(answer: Promise<string[]>): Promise<FamilyAnswer> {
  try {
    return { addresses: await answer, silent: false };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { addresses: [], silent: code === 'ETIMEOUT' || code === 'ECANCELLED' };
  }
}
