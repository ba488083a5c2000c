/** Processes whose clock is 30 days ahead or behind: everything is as if it were right. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { globSync } from 'node:fs';
import { test } from 'node:test';
import { createPlatformKey } from '../../src/access/keys.ts';
import { sql } from '../../src/database/database.ts';
import { createPasswordHashing } from '../../src/sign-in/auth.ts';
import { testActor } from '../support/actor.ts';
import { startCommand } from '../support/command.ts';
import { countRows } from '../support/count-rows.ts';
import { openTestDatabase, toUrl } from '../support/database.ts';
import { put } from '../support/directory.ts';
import { endedDelivery, eventually } from '../support/eventually.ts';
import { signInAs, signUp } from '../support/portal.ts';
import { loopbackAllowed, startReceiver } from '../support/receiver.ts';
import { makeKey, startTestService, testPublicUrl } from '../support/service.ts';
import { startProcess } from '../support/start-process.ts';

const [libfaketime] = globSync('/usr/lib/*/faketime/libfaketime.so.1');
const options = { skip: libfaketime === undefined && 'libfaketime is not installed' };

const secretKey = randomBytes(32);
const opened = await openTestDatabase();
const right = await startTestService({
  beside: { ...opened, secretKeys: [secretKey] },
  hashing: createPasswordHashing(),
});
await put(opened.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
const platform = await opened.database
  .transaction()
  .execute((tx) => createPlatformKey(tx, testActor, { name: 'Platform', expiresAt: null }));

const inMs = (ms: number) => new Date(Date.now() + ms);
const isNow = (ms: number) => Math.abs(ms - Date.now()) < 60_000;

async function post(address: string, key: string, json: unknown = {}) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const response = await fetch(address, { method: 'POST', headers, body: JSON.stringify(json) });
  assert.ok(response.ok, `${address}: ${response.status}`);
  return ((await response.json()) as any).data;
}

for (const offset of ['+30d', '-30d'])
  test(
    `processes with a clock of ${offset} publish, deliver, retry, redeliver and sign in`,
    options,
    async () => {
      const env = {
        ...loopbackAllowed,
        DATABASE_URL: toUrl(opened.connection),
        SECRET_KEY: secretKey.toString('base64'),
        PUBLIC_URL: testPublicUrl,
        WEBHOOK_RETRY_BASE_MS: '1',
        WEBHOOK_RETRY_FACTOR: '1',
        LD_PRELOAD: libfaketime ?? '',
        FAKETIME: offset,
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      };
      const [api, worker] = [await startProcess('api', env), await startProcess('worker', env)];
      for (const { command } of [api, worker]) await command.waitFor(/"clock.wrong"/);

      // The first attempt is asked to wait for two seconds of the real time.
      const receiver = await startReceiver((response, _, count) =>
        count === 1
          ? response.writeHead(503, { 'retry-after': inMs(3_000).toUTCString() }).end()
          : response.writeHead(200).end(),
      );
      const { key } = await makeKey(opened, { expiresAt: inMs(86_400_000) });
      const webhook = await post(`${api.url}/api/v1/webhooks`, key, { url: receiver.url });
      await post(`${api.internalUrl}/internal/v1/events`, platform.key, {
        event: 'org.created',
        org: 'acme',
      });
      const [first, second] = await receiver.waitFor(2);
      assert.ok(first && second);
      assert.equal(second.headers['webhook-id'], first.headers['webhook-id'], 'a retry came next');
      const waitedMs = second.at - first.at;
      assert.ok(waitedMs > 1_000 && waitedMs < 20_000, `waited ${waitedMs} ms`);
      for (const { headers } of [first, second])
        assert.ok(isNow(Number(headers['webhook-timestamp']) * 1_000), 'the signature is fresh');
      const { id } = await endedDelivery(opened, webhook.id);
      const { rows } = await sql<{ at: Date }>`
      select started_at as at from attempts where delivery_id = ${id}
      union all select uuid_v7_hour(id) + interval '30 minutes' from webhooks where id = ${webhook.id}
    `.execute(opened.database);
      for (const { at } of rows) assert.ok(Math.abs(at.getTime() - Date.now()) < 3_600_000);

      await post(`${api.url}/api/v1/webhooks/${webhook.id}/deliveries/${id}/redeliver`, key);
      await receiver.waitFor(3);
      const tested = await post(`${api.url}/api/v1/webhooks/${webhook.id}/test`, key);
      assert.equal(tested.status, 'succeeded');

      const publish = startCommand(['events', 'publish', 'org.created', '--org', 'acme'], { env });
      assert.equal((await publish.ended).code, 0, publish.stderr);
      await receiver.waitFor(5);
      await eventually(
        async () => (await countRows(opened.database, sql`pending_deliveries`)) === 0,
      );
      const sent = receiver.received.map(({ headers }) => headers['webhook-id']);
      assert.equal(sent.length, 5, 'nothing is sent twice');
      assert.deepEqual(sent.slice(0, 3), Array(3).fill(sent[0]), 'two attempts and a redelivery');
      assert.equal(new Set(sent).size, 3, 'the event, the test and what the command published');

      const email = `ada${offset}@example.org`.replace('+', 'p');
      const ada = await signUp(right, email);
      const here = await signInAs(api, email);
      for (const [{ credentials }, { url }] of [
        [ada, api],
        [here, right],
        [here, api],
      ] as const) {
        const session = await fetch(`${url}/portal/api/session`, { headers: credentials });
        assert.equal(session.status, 200, 'a session of either process is one of both');
      }
      for (const { command } of [api, worker]) {
        command.signal('SIGTERM');
        assert.equal((await command.ended).code, 0);
      }
    },
  );
