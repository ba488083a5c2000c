import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { test } from 'node:test';
import { sql, type Database } from '../../src/database/database.ts';
import { Session } from '../../src/database/session.ts';
import { openCuttableDatabase } from '../support/cuttable-database.ts';
import { openTestDatabase } from '../support/database.ts';

const lock = 4711;

/** Starts a listener of one channel, and resolves when it listens. */
async function listen(session: Session, channel: string, locks = {}) {
  const heard = new EventEmitter();
  const listener = session.createListener(
    [channel],
    (name, payload) => heard.emit(name ?? 'connected', payload),
    locks,
  );
  const connected = once(heard, 'connected');
  listener.start();
  return { listener, heard, connected };
}

async function notify(database: Database, channel: string): Promise<void> {
  await sql`select pg_notify(${channel}, 'hello')`.execute(database);
}

async function readSessions(database: Database): Promise<{ pid: number; locks: number }[]> {
  const { rows } = await sql<{ pid: number; locks: number }>`
    select pid, (select count(*)::int from pg_locks l where l.pid = a.pid and locktype = 'advisory') as locks
    from pg_stat_activity a
    where datname = current_database() and application_name like 'orgdir listener%'
  `.execute(database);
  return rows;
}

test('a listener gets notifications, and stops even if the server is silent', async () => {
  const direct = await openTestDatabase();
  const { opened, freeze } = await openCuttableDatabase(direct);
  const session = new Session(opened.connection);
  const { listener, heard, connected } = await listen(session, 'news');
  const other = await listen(session, 'weather');
  await Promise.all([connected, other.connected]);
  const news = once(heard, 'news');
  await notify(direct.database, 'news');
  assert.deepEqual(await news, ['hello']);
  freeze();
  await listener.stop();
  await other.listener.stop();
});

test('all listeners of a process share one connection, and all of them hear again after it broke', async () => {
  const { database, connection } = await openTestDatabase();
  const session = new Session(connection);
  const listeners = [
    await listen(session, 'news'),
    await listen(session, 'weather', { exclusive: lock }),
    await listen(session, 'sports', { shared: [[lock + 1], [lock, 1]] }),
  ];
  await Promise.all(listeners.map(({ connected }) => connected));
  const before = await readSessions(database);
  assert.deepEqual(
    before.map(({ locks }) => locks),
    [3],
  );
  const again = listeners.map(({ heard }) => once(heard, 'connected'));
  await sql`select pg_terminate_backend(${before[0]?.pid}, 1000)`.execute(database);
  await Promise.all(again);
  const after = await readSessions(database);
  assert.deepEqual(
    after.map(({ locks }) => locks),
    [3],
  );
  const weather = once(listeners[1]?.heard as EventEmitter, 'weather');
  await notify(database, 'weather');
  await weather;
  for (const { listener } of listeners) await listener.stop();
});

test('a listener that stops leaves its channel and its lock, and the others go on', async () => {
  const { database, connection } = await openTestDatabase();
  const [first, second] = [new Session(connection), new Session(connection)];
  const news = await listen(first, 'news');
  const leader = await listen(first, 'weather', { exclusive: lock });
  await Promise.all([news.connected, leader.connected]);
  const next = await listen(second, 'weather', { exclusive: lock });
  leader.heard.on('weather', () => assert.fail('a stopped listener hears nothing'));
  await leader.listener.stop();
  assert.equal(leader.listener.listens(), false);
  await next.connected;
  const heard = [once(news.heard, 'news'), once(next.heard, 'weather')];
  await notify(database, 'weather');
  await notify(database, 'news');
  await Promise.all(heard);
  await Promise.all([news.listener.stop(), next.listener.stop()]);
  assert.deepEqual(await readSessions(database), []);
});
