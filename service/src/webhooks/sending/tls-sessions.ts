/**
 * Keeps TLS sessions, so that a new connection to a known receiver skips the certificate.
 * `docs/decisions/0010-attempts.md` says what that leaves unchecked and for how long.
 */
import type { TLSSocket } from 'node:tls';
import { LRUCache } from 'lru-cache';

type TlsSession = {
  bytes: Buffer;
  /** In milliseconds since 1970. Not later than the end of the certificate that was checked. */
  validUntil: number;
};

export type TlsSessions = {
  /** Returns the newest session of a receiver. */
  get(receiver: string): TlsSession | undefined;
  /** Stores the sessions that a receiver issues on a new connection. `used` is the one that the connection offers. */
  collect(receiver: string, socket: TLSSocket, used: TlsSession | undefined): void;
};

/** How long after a full handshake its certificate is not checked again. */
const lifeMs = 60 * 60_000;
/** Sessions contain the receiver's certificate, 1 to 4 KiB in all: enough for a few thousand receivers. */
const bytesMax = 8 * 1024 * 1024;
/** The receiver chooses the size of its ticket, up to 64 KiB. */
const sessionBytesMax = 16 * 1024;

export function createTlsSessions(now: () => number): TlsSessions {
  const sessions = new LRUCache<string, TlsSession>({
    maxSize: bytesMax,
    maxEntrySize: sessionBytesMax,
    sizeCalculation: ({ bytes }) => bytes.length,
  });

  /** If the session was resumed, the certificate was not checked, so that the new session lives no longer. */
  function validUntil(socket: TLSSocket, used: TlsSession | undefined): number {
    if (used && socket.isSessionReused()) return used.validUntil;
    const certificateEnd = socket.getPeerX509Certificate()?.validToDate.getTime() ?? 0;
    return Math.min(now() + lifeMs, certificateEnd);
  }

  return {
    get(receiver) {
      const session = sessions.get(receiver);
      return session && now() < session.validUntil ? session : undefined;
    },
    collect(receiver, socket, used) {
      // A receiver that fails to resume gets a full handshake next time.
      const forget = () => sessions.delete(receiver);
      if (used) socket.once('close', forget);
      let until = 0;
      // Node emits this after it has verified the certificate, and the sessions after this.
      socket.once('secureConnect', () => {
        socket.off('close', forget);
        until = validUntil(socket, used);
      });
      socket.on('session', (bytes) => sessions.set(receiver, { bytes, validUntil: until }));
    },
  };
}
