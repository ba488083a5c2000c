/** Decides which addresses webhooks may reach: docs/reference/deliveries.md#webhook-urls. Pure. */
import ipaddr from 'ipaddr.js';
import type { Network } from '../../settings/config.ts';

/** The public part of IPv6. Everything else is reserved, or an IPv4 address in disguise (`::7f00:1`). */
const publicIpv6 = ipaddr.parseCIDR('2000::/3');

/** Not public, although `ipaddr.js` calls these unicast: IANA's special registries, and Azure's metadata address. */
const moreForbidden = [
  '2001::/23',
  '2620:4f:8000::/48',
  '3fff::/20',
  '192.0.0.0/24',
  '192.88.99.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.175.48.0/24',
  '168.63.129.16/32',
].map((network) => ipaddr.parseCIDR(network));

/** Whether a connection to this address is allowed. An unreadable address is not. */
export function isAllowedAddress(text: string, allowedNetworks: Network[]): boolean {
  const bare = text.replace(/%.*$/, '');
  if (!ipaddr.isValid(bare)) return false;
  // An IPv4 address written as IPv6 is allowed only if its network is listed.
  const plain = ipaddr.process(bare);
  if (allowedNetworks.some((network) => isIn(plain, network))) return true;
  const address = ipaddr.parse(bare);
  if (address.kind() === 'ipv6' && !isIn(address, publicIpv6)) return false;
  return address.range() === 'unicast' && !moreForbidden.some((network) => isIn(address, network));
}

function isIn(address: ipaddr.IPv4 | ipaddr.IPv6, [network, bits]: Network): boolean {
  return address.kind() === network.kind() && address.match(network, bits);
}
