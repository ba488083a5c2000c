/**
 * Opens connections to receivers and keeps them out of private networks: it checks every address that a host resolves
 * to, connects to a checked address, and checks the socket's peer before it sends a byte.
 */
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls';
import ipaddr from 'ipaddr.js';
import type { buildConnector } from 'undici';
import type { Network } from '../../settings/config.ts';
import { normaliseHost, isLoopbackName, literalAddresses } from './url-host.ts';
import { isAllowedAddress } from './is-allowed-address.ts';
import type { Resolve } from './resolve.ts';
import { createTlsSessions, type TlsSessions } from './tls-sessions.ts';

/** Why there is no connection: the attempt errors that can occur before the request. */
type ConnectErrorKind = 'dns' | 'connect' | 'tls' | 'timeout' | 'blocked';

export class ConnectError extends Error {
  override readonly name = 'ConnectError';
  readonly code = 'ORGDIR_CONNECT';
  readonly fault: ConnectErrorKind;

  constructor(fault: ConnectErrorKind, cause?: unknown) {
    super(`no connection: ${fault}`, { cause });
    this.fault = fault;
  }
}

export type GuardedConnector = {
  connect: buildConnector.connector;
  /** Closes connections that are still opening. */
  close(): void;
};

type GuardedConnectorOptions = {
  allowedNetworks: Network[];
  /** The deadline from name resolution to the end of the TLS handshake. */
  timeoutMs: number;
  /** How long one address may stay silent before the next is tried. */
  addressWaitMs: number;
  /** The longest life of a connection, whatever is in flight on it. */
  lifeMs: number;
  resolve: Resolve;
  /** Certificate authorities to trust instead of the system's, as PEM. */
  ca?: string;
  /** Milliseconds since 1970, for the age of TLS sessions. */
  now: () => number;
};

/** The certificate authorities, and the sessions of receivers whose certificates were checked against them. */
type TlsTrust = { secureContext: SecureContext; sessions: TlsSessions };

/** A name may have hundreds of addresses. All are checked; this many are tried. */
const addressesTriedMax = 4;

export function createGuardedConnector(options: GuardedConnectorOptions): GuardedConnector {
  const opening = new Set<AbortController>();
  const trust: TlsTrust = {
    secureContext: createSecureContext(options.ca === undefined ? {} : { ca: options.ca }),
    sessions: createTlsSessions(options.now),
  };

  async function open(target: buildConnector.Options, signal: AbortSignal): Promise<Socket> {
    const host = normaliseHost(target.hostname);
    const addresses = await checkedAddresses(host, options, signal);
    const socket = await openTcp(target, addresses, options.addressWaitMs, signal);
    if (!isPeerChecked(socket, addresses, options.allowedNetworks)) {
      socket.destroy();
      throw new ConnectError('blocked');
    }
    limitLife(socket, options.lifeMs);
    return target.protocol === 'https:' ? openTls(socket, host, trust, signal) : socket;
  }

  async function begin(
    target: buildConnector.Options,
    callback: buildConnector.Callback,
  ): Promise<void> {
    const controller = new AbortController();
    const end = () => controller.abort(new ConnectError('timeout'));
    const timer = setTimeout(end, options.timeoutMs);
    opening.add(controller);
    const result = await open(target, controller.signal).catch((error: Error) => error);
    clearTimeout(timer);
    opening.delete(controller);
    if (result instanceof Error) callback(result, null);
    else callback(null, result);
  }

  return {
    connect: (target, callback) => void begin(target, callback),
    close() {
      for (const controller of opening) controller.abort(new ConnectError('timeout'));
    },
  };
}

/** Rejects a name if any of its addresses is forbidden: that is an attack or a mistake. */
async function checkedAddresses(
  host: string,
  { allowedNetworks, resolve }: GuardedConnectorOptions,
  signal: AbortSignal,
): Promise<string[]> {
  const isAllowed = (address: string) => isAllowedAddress(address, allowedNetworks);
  const literal = literalAddresses(host);
  // For this machine's own names, one allowed address is enough.
  const addresses = isLoopbackName(host)
    ? (literal ?? []).filter(isAllowed)
    : (literal ?? (await resolveHost(host, resolve, signal)));
  if (addresses.length === 0 || !addresses.every(isAllowed)) throw new ConnectError('blocked');
  return addresses;
}

async function resolveHost(host: string, resolve: Resolve, signal: AbortSignal): Promise<string[]> {
  const resolution = await untilAborted(resolve(host, signal), signal);
  if (resolution.kind !== 'addresses') throw new ConnectError(resolution.kind);
  if (resolution.addresses.length === 0) throw new ConnectError('dns');
  return resolution.addresses;
}

async function untilAborted<T>(pending: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason as Error);
  signal.addEventListener('abort', abort);
  try {
    return await Promise.race([pending, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Tries the addresses in turn, alternating between families. */
function openTcp(
  target: buildConnector.Options,
  addresses: string[],
  addressWaitMs: number,
  signal: AbortSignal,
): Promise<Socket> {
  const tried = interleave(addresses).slice(0, addressesTriedMax);
  const lookup: LookupFunction = (_, __, callback) =>
    callback(
      null,
      tried.map((address) => ({ address, family: familyOf(address) })),
    );
  const [only = ''] = tried;
  const socket = connectTcp({
    // A single address gets the whole time.
    host: tried.length === 1 ? only : target.hostname,
    port: Number(target.port) || (target.protocol === 'https:' ? 443 : 80),
    lookup,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: addressWaitMs,
    noDelay: true,
  });
  return untilOpen(socket, 'connect', 'connect', signal);
}

function familyOf(address: string): 4 | 6 {
  return address.includes(':') ? 6 : 4;
}

/** IPv4 first, so that a machine without IPv6 does not wait. */
function interleave(addresses: string[]): string[] {
  const ipv4 = addresses.filter((address) => familyOf(address) === 4);
  const ipv6 = addresses.filter((address) => familyOf(address) === 6);
  const turns = Array.from({ length: Math.max(ipv4.length, ipv6.length) }, (_, turn) => [
    ...ipv4.slice(turn, turn + 1),
    ...ipv6.slice(turn, turn + 1),
  ]);
  return turns.flat();
}

function isPeerChecked(socket: Socket, addresses: string[], allowedNetworks: Network[]): boolean {
  const peer = socket.remoteAddress ?? '';
  if (!isAllowedAddress(peer, allowedNetworks)) return false;
  return addresses.some((address) => canonical(address) === canonical(peer));
}

function limitLife(socket: Socket, lifeMs: number): void {
  const timer = setTimeout(() => socket.destroy(), lifeMs).unref();
  socket.once('close', () => clearTimeout(timer));
}

/** Gives each address one spelling. */
function canonical(address: string): string {
  return ipaddr.process(address).toString();
}

function openTls(
  socket: Socket,
  host: string,
  { secureContext, sessions }: TlsTrust,
  signal: AbortSignal,
): Promise<Socket> {
  // The address too, so that another server behind the same name presents its certificate.
  const receiver = `${host} ${socket.remotePort} ${canonical(socket.remoteAddress ?? '')}`;
  const session = sessions.get(receiver);
  const secured = connectTls({
    socket,
    ...(session === undefined ? {} : { session: session.bytes }),
    // The name that the certificate must match; an IP address has no server name.
    host,
    servername: isIP(host) ? '' : host,
    secureContext,
    // Over HTTP/2 all webhooks of an origin would share one connection and wait for its handshake.
    ALPNProtocols: ['http/1.1'],
  });
  sessions.collect(receiver, secured, session);
  return untilOpen(secured, 'secureConnect', 'tls', signal);
}

function untilOpen(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  fault: ConnectErrorKind,
  signal: AbortSignal,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const abort = () => socket.destroy(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
    const fail = (cause?: unknown) => {
      signal.removeEventListener('abort', abort);
      socket.destroy();
      reject(cause instanceof ConnectError ? cause : new ConnectError(fault, cause));
    };
    // This listener stays, so that an error before the next listener is added does not end the process.
    socket.on('error', fail);
    socket.once('close', fail);
    socket.once(event, () => {
      signal.removeEventListener('abort', abort);
      socket.off('close', fail);
      resolve(socket);
    });
  });
}
