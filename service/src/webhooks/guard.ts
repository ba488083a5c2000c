/**
 * Keeps deliveries out of private networks. Pure but for the connector at the end, which checks every
 * address that a host resolves to, connects to a checked one, and looks at the socket's peer again.
 */
import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { buildConnector } from 'undici';
import type { Network } from '../config.ts';
import type { Issue } from '../errors.ts';

export type GuardOptions = { allowedNetworks: Network[]; allowHttp: boolean };

/** SPEC 7. */
const urlLengthMax = 2048;

/** The bad ports of the Fetch standard (section 2.9, "Port blocking"). */
const badPorts = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102,
  103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465,
  512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993,
  995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668,
  6669, 6679, 6697, 10080,
]);

/** All of IPv6 that is assigned for the public: what lies outside is reserved, or an IPv4 address in disguise (`::7f00:1`). */
const publicIpv6 = ipaddr.parseCIDR('2000::/3');

/** Public in no sense, though `ipaddr.js` calls them unicast: IANA's special registries, and Azure's metadata address. */
const moreForbidden = [
  '2001::/23',
  '3fff::/20',
  '192.0.0.0/24',
  '192.88.99.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.175.48.0/24',
  '168.63.129.16/32',
].map((network) => ipaddr.parseCIDR(network));

/** What is wrong with a webhook's address as far as the text of it shows, or null. */
export function checkWebhookUrl(
  text: string,
  path: string,
  { allowedNetworks, allowHttp }: GuardOptions,
): Issue | null {
  const fault = (message: string) => ({ path, message });
  if (text.length > urlLengthMax) return fault(`must have at most ${urlLengthMax} characters`);
  const url = URL.parse(text);
  if (!url || !/^https?:\/\//i.test(text))
    return fault('must be a full address, such as https://example.org/hooks');
  if (url.protocol !== 'https:' && !(allowHttp && url.protocol === 'http:')) {
    return fault(allowHttp ? 'must begin with https:// or http://' : 'must begin with https://');
  }
  if (url.username !== '' || url.password !== '')
    return fault('must not contain credentials; the signature proves who sends');
  if (text.includes('#')) return fault('must not contain a fragment');
  if (badPorts.has(Number(url.port || defaultPort(url))))
    return fault(`must not use port ${url.port}, which is reserved for another protocol`);
  const address = shownAddress(url.hostname);
  if (address !== null && !isAllowedAddress(address, allowedNetworks))
    return fault('must not lead into a private or reserved network');
  return null;
}

function defaultPort(url: URL): number {
  return url.protocol === 'https:' ? 443 : 80;
}

/** The address that the host is, without asking anybody; null for a name. */
function shownAddress(hostname: string): string | null {
  const bare = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  // RFC 6761: the name and everything under it is loopback.
  if (bare === 'localhost' || bare.endsWith('.localhost')) return '127.0.0.1';
  return isIP(bare) ? bare : null;
}

/** Whether a connection to this address is allowed. What cannot be read is not. */
export function isAllowedAddress(text: string, allowedNetworks: Network[]): boolean {
  const bare = text.replace(/%.*$/, '');
  if (!ipaddr.isValid(bare)) return false;
  const address = ipaddr.process(bare);
  if (allowedNetworks.some((network) => isIn(address, network))) return true;
  if (address.kind() === 'ipv6' && !isIn(address, publicIpv6)) return false;
  return address.range() === 'unicast' && !moreForbidden.some((network) => isIn(address, network));
}

function isIn(address: ipaddr.IPv4 | ipaddr.IPv6, [network, bits]: Network): boolean {
  return address.kind() === network.kind() && address.match(network, bits);
}

/** A connection that the guard refused. */
class BlockedError extends Error {
  override readonly name = 'BlockedError';
  readonly code = 'ORGDIR_BLOCKED';
}

export type Resolve = (
  hostname: string,
  callback: (error: Error | null, addresses: LookupAddress[]) => void,
) => void;

const resolveWithSystem: Resolve = (hostname, callback) => {
  systemLookup(hostname, { all: true, verbatim: true }, callback);
};

/** How undici opens connections to receivers. `resolve` is the system's unless a test brings its own. */
export function createGuardedConnector(
  allowedNetworks: Network[],
  timeoutMs: number,
  resolve: Resolve = resolveWithSystem,
): buildConnector.connector {
  const lookup: LookupFunction = (hostname, options, callback) => {
    resolve(hostname, (error, addresses) => {
      const failure = error ?? refuse(hostname, addresses, allowedNetworks);
      if (failure) return callback(failure, '', 0);
      const [first] = addresses;
      if (options.all) return callback(null, addresses);
      return callback(null, first?.address ?? '', first?.family ?? 0);
    });
  };
  // The caller's deadline spans DNS to body; this is only its upper bound.
  const open = buildConnector({ timeout: timeoutMs, lookup, allowH2: false });

  return (options, callback) => {
    const literal = shownAddress(options.hostname);
    if (literal !== null && !isAllowedAddress(literal, allowedNetworks))
      return callback(blocked(options.hostname), null);
    open(options, (...result) => {
      const [error, socket] = result;
      if (error) return callback(error, null);
      if (isAllowedAddress(socket.remoteAddress ?? '', allowedNetworks))
        return callback(null, socket);
      socket.destroy();
      return callback(blocked(options.hostname), null);
    });
  };
}

/** One forbidden address among several is enough: a name that resolves to both is an attack or a mistake. */
function refuse(
  hostname: string,
  addresses: LookupAddress[],
  allowedNetworks: Network[],
): Error | null {
  if (addresses.length === 0)
    return Object.assign(new Error(`${hostname} has no address`), { code: 'ENOTFOUND' });
  return addresses.every(({ address }) => isAllowedAddress(address, allowedNetworks))
    ? null
    : blocked(hostname);
}

function blocked(hostname: string): BlockedError {
  return new BlockedError(`${hostname} leads into a network that webhooks may not reach`);
}
