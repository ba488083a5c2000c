/** A test's database behind a proxy that can be cut or stalled: what a service sees when the server goes away. */
import { after } from 'node:test';
import { openClient, openDatabase } from '../../src/database/database.ts';
import { openTestDatabase, type TestDatabase } from './database.ts';
import { startProxy, type Proxy } from './proxy.ts';

export type CuttableDatabase = Pick<Proxy, 'cut' | 'mend' | 'stall' | 'freeze' | 'thaw'> & {
  /** Through the proxy. */
  opened: TestDatabase;
};

export async function openCuttableDatabase(behind?: TestDatabase): Promise<CuttableDatabase> {
  const { connection } = behind ?? (await openTestDatabase());
  const { host, port, user, password, database } = openClient(connection, {
    applicationName: 'test',
  });
  const proxy = await startProxy({ host, port });
  const through = {
    host: '127.0.0.1',
    port: proxy.port,
    user: user ?? '',
    database: database ?? '',
    ...(password === null ? {} : { password: String(password) }),
  };
  const pool = openDatabase(through, { applicationName: 'test' });
  after(async () => {
    await pool.destroy();
    proxy.close();
  });
  const { cut, mend, stall, freeze, thaw } = proxy;
  return { opened: { database: pool, connection: through }, cut, mend, stall, freeze, thaw };
}
