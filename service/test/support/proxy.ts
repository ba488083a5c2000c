/** A TCP proxy before a database that can be cut and stalled: what a client sees when the network goes away. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export type Proxy = {
  port: number;
  /** Ends all connections, and takes no more. */
  cut: () => void;
  /** Takes connections again. */
  mend: () => void;
  /** Keeps the connections that are there, and lets nothing more through from the server. New ones are as before. */
  stall: () => void;
  /** Keeps all connections, takes new ones, and lets nothing through in either direction until `thaw`. */
  freeze: () => void;
  thaw: () => void;
  close: () => void;
};

/** A host that begins with `/` is the folder of PostgreSQL's socket. */
type Target = { host: string; port: number };
type Link = { near: Socket; far: Socket };

export async function startProxy({ host, port }: Target): Promise<Proxy> {
  const links = new Set<Link>();
  let whole = true;
  let frozen = false;

  const server = createServer((near) => {
    if (!whole) {
      near.destroy();
      return;
    }
    const far = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    const link = { near, far };
    links.add(link);
    near.once('close', () => links.delete(link));
    endTogether(near, far);
    if (!frozen) join(link);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  function cut(): void {
    whole = false;
    for (const { near } of links) near.destroy();
  }

  return {
    port: (server.address() as AddressInfo).port,
    cut,
    mend: () => {
      whole = true;
    },
    stall: () => {
      for (const { far } of links) far.unpipe().pause();
    },
    freeze: () => {
      frozen = true;
      for (const { near, far } of links) {
        near.unpipe().pause();
        far.unpipe().pause();
      }
    },
    thaw: () => {
      frozen = false;
      for (const link of links) join(link);
    },
    close: () => {
      cut();
      server.close();
    },
  };
}

function join({ near, far }: Link): void {
  near.pipe(far);
  far.pipe(near);
}

function endTogether(near: Socket, far: Socket): void {
  for (const [socket, other] of [
    [near, far],
    [far, near],
  ] as const) {
    socket.on('error', () => {});
    socket.on('close', () => other.destroy());
  }
}
