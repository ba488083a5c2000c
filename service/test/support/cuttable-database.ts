/** A test's database behind a proxy that can be cut or stalled: what a service sees when the server goes away. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { after } from 'node:test';
import { openClient, openDatabase } from '../../src/database/database.ts';
import { openTestDatabase, type TestDatabase } from './database.ts';

export type CuttableDatabase = {
  /** Through the proxy. */
  opened: TestDatabase;
  /** Ends all connections, and takes no more. */
  cut: () => void;
  mend: () => void;
  /** Keeps all connections, and lets nothing more through from the server. */
  stall: () => void;
};

export async function openCuttableDatabase(behind?: TestDatabase): Promise<CuttableDatabase> {
  const { connection } = behind ?? (await openTestDatabase());
  const { host, port, user, password, database } = openClient(connection, {
    applicationName: 'test',
  });
  const sockets = new Set<Socket>();
  const fromServer = new Set<Socket>();
  let whole = true;

  const proxy = createServer((near) => {
    if (!whole) {
      near.destroy();
      return;
    }
    const far = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    fromServer.add(far);
    far.on('close', () => fromServer.delete(far));
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');

  function cut(): void {
    whole = false;
    for (const socket of sockets) socket.destroy();
  }

  const through = {
    host: '127.0.0.1',
    port: (proxy.address() as AddressInfo).port,
    user: user ?? '',
    database: database ?? '',
    ...(password === null ? {} : { password: String(password) }),
  };
  const pool = openDatabase(through, { applicationName: 'test' });
  after(async () => {
    await pool.destroy();
    cut();
    proxy.close();
  });
  return {
    opened: { database: pool, connection: through },
    cut,
    stall: () => {
      for (const far of fromServer) far.unpipe().pause();
    },
    mend: () => {
      whole = true;
    },
  };
}
