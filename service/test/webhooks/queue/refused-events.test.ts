/** An event that is refused delays no other, whatever else is in flight. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { v7 as uuidv7 } from 'uuid';
import { sql, type Database } from '../../../src/database/database.ts';
import { sliceMax } from '../../../src/webhooks/queue/fan-out/fan-out.ts';
import { countRows } from '../../support/count-rows.ts';
import { openTestDatabase } from '../../support/database.ts';
import { announce, put } from '../../support/directory.ts';
import { fanOutWith } from '../../support/queue-steps.ts';
import { loopbackAllowed, startReceiver } from '../../support/receiver.ts';
import { startTestService } from '../../support/service.ts';

const bad = '{"bad":true}';

/** PostgreSQL refuses to store such an event. */
async function refuseBad(database: Database): Promise<void> {
  await sql`
    create function refuse_bad() returns trigger language plpgsql as $$
    begin
      if new.data = ${sql.lit(bad)} then raise exception 'out of range' using errcode = '22003'; end if;
      return new;
    end $$
  `.execute(database);
  await sql`create trigger refuse_bad before insert on events for each row execute function refuse_bad()`.execute(
    database,
  );
}

/** In one transaction. */
async function publish(database: Database, data: string[]): Promise<void> {
  await sql`
    insert into outbox (id, name, audience, data)
    select uuid_v7(), 'chat.sync.completed', 'global', data from unnest(${data}::text[]) as data
  `.execute(database);
}

test('events of the same batch are delivered while a broadcast waits for silent receivers', async () => {
  const service = await startTestService({
    // An attempt that ends for want of a response makes room.
    env: { ...loopbackAllowed, WEBHOOK_TIMEOUT_MS: '30000' },
    worker: true,
  });
  const { database, secretBox } = service;
  await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
  await refuseBad(database);
  const held: ServerResponse[] = [];
  const silent = await startReceiver((response) => void held.push(response));
  const quick = await startReceiver();
  const add = async (url: string, event: string, count: number) => {
    const ids = Array.from({ length: count }, () => uuidv7());
    await sql`
      with webhook as (
        insert into webhooks (id, app_id, url, secret, events)
        select id, ${service.appId}, ${url}, secret, array[${event}]
        from unnest(${ids}::uuid[], ${ids.map((id) => secretBox.seal('whsec_c2VjcmV0', id))}::bytea[]) as w(id, secret)
        returning id
      )
      insert into webhook_health (webhook_id, exhausted_in_a_row, latency_ms) select id, 0, 5 from webhook
    `.execute(database);
  };
  // From 640 attempts in flight, the rest of a broadcast waits.
  await add(silent.url, 'org.created', 2 * sliceMax);
  await add(quick.url, 'chat.sync.completed', 1);
  await announce(database);
  await silent.waitFor(640);
  await publish(database, ['{}', bad, '{}', '{}']);
  await quick.waitFor(3);
  assert.equal(await countRows(database, sql`broadcasts`), 1, 'the broadcast still waits');
  for (const response of held.splice(0)) response.end();
  silent.respond = (response) => void response.end();
  await silent.waitFor(2 * sliceMax);
});

test('an event that overtakes a large transaction is found', async () => {
  const { database } = await openTestDatabase();
  await refuseBad(database);
  await publish(
    database,
    Array.from({ length: 300 }, () => '{}'),
  );
  await publish(database, ['{}', bad, '{}']);
  const { events } = await fanOutWith(database);
  assert.equal(events, 258);
  const { rows } = await sql`select original->>'data' as data from set_aside`.execute(database);
  assert.deepEqual(rows, [{ data: bad }]);
  assert.deepEqual((await sql`select from broadcasts`.execute(database)).rows, []);
});
