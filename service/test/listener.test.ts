import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { test } from 'node:test';
import { sql } from '../src/database/database.ts';
import { createListener } from '../src/database/listener.ts';
import { openCuttableDatabase } from './support/cuttable-database.ts';
import { openTestDatabase } from './support/database.ts';

test('a listener gets notifications, and stops even if the server is silent', async () => {
  const direct = await openTestDatabase();
  const { opened, freeze } = await openCuttableDatabase(direct);
  const heard = new EventEmitter();
  const listener = createListener(opened.connection, ['news'], (channel, payload) =>
    heard.emit(channel ?? 'connected', payload),
  );
  const connected = once(heard, 'connected');
  listener.start();
  await connected;
  const news = once(heard, 'news');
  await sql`select pg_notify('news', 'hello')`.execute(direct.database);
  assert.deepEqual(await news, ['hello']);
  freeze();
  await listener.stop();
});
