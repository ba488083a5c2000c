/** Tests webhooks of chat channels against servers that behave as the platforms document. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { pino } from 'pino';
import type { ChatFormat } from '../../src/contract/delivery-rules.ts';
import { sql } from '../../src/database/database.ts';
import { stopParts } from '../../src/start/main.ts';
import { createSecretBox } from '../../src/runtime/secret-box.ts';
import { resealSecrets } from '../../src/database/sealed-secrets.ts';
import { webhookSecrets } from '../../src/webhooks/management/sealed-columns.ts';
import { invalidMax } from '../../src/webhooks/queue/dispatch/chat-limits.ts';
import {
  discordPath,
  limit,
  refuse,
  refuseText,
  slackPath,
  startChatPlatform,
  teamsPath,
  token,
} from '../support/chat-platform.ts';
import { announce, put } from '../support/directory.ts';
import { endedDelivery, eventually } from '../support/eventually.ts';
import { queueDrained } from '../support/queue.ts';
import { loopbackAllowed } from '../support/receiver.ts';
import { startTestService } from '../support/service.ts';

const platform = await startChatPlatform();
let logged = '';
const log = pino({ level: 'trace' }, { write: (line: string) => void (logged += line) });
const origins = [platform.origin];
const chatOrigins = { discord: origins, slack: origins, teams: origins };
const env = {
  ...loopbackAllowed,
  WEBHOOK_RETRY_BASE_MS: '1',
  WEBHOOK_RETRY_FACTOR: '1',
  WEBHOOK_DEACTIVATE_AFTER: '1',
};
const service = await startTestService({ env, chatOrigins, log, worker: true });
// Another process, which delivers too.
await startTestService({ env, chatOrigins, log, worker: true, beside: service });
const { database } = service;
await put(database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);

const paths = { discord: discordPath, slack: slackPath, teams: teamsPath };
let number = 0;

async function create(format: ChatFormat, fields: object = {}) {
  number += 1;
  const path = paths[format](number);
  const json = { url: platform.origin + path, format, events: ['org.created'], ...fields };
  const { status, body } = await service.call('/webhooks', { method: 'POST', json });
  assert.equal(status, 201, JSON.stringify(body));
  return { id: body.data.id as string, path, number, webhook: body.data };
}

const read = async (id: string) => (await service.call(`/webhooks/${id}`)).body.data;
const change = (id: string, json: object) =>
  service.call(`/webhooks/${id}`, { method: 'PATCH', json });

async function remove(...webhooks: { id: string; path: string }[]): Promise<void> {
  for (const { id, path } of webhooks) {
    platform.instead.delete(path);
    await service.call(`/webhooks/${id}`, { method: 'DELETE' });
  }
  platform.bucket = null;
  await sql`delete from chat_limits`.execute(database);
  // Processes that were putting one back would cancel it when they look at its channel again, minutes later.
  const ids = webhooks.map(({ id }) => id);
  await eventually(async () => {
    await sql`
      delete from pending_deliveries where webhook_id = any(${ids}::uuid[]) and lease_token is null
    `.execute(database);
    return (await Promise.all(ids.map(pendingOf))).flat().length === 0;
  });
  await queueDrained(database);
}

async function deliveryOf(id: string) {
  const delivery = await endedDelivery(service, id);
  return (await service.call(`/webhooks/${id}/deliveries/${delivery.id}`)).body.data;
}

async function pendingOf(id: string) {
  const { rows } = await sql<{ attempts: number; parked: boolean; due: boolean; leased: boolean }>`
    select attempt_count as attempts, parked, due_at <= queue_now() as due, lease_token is not null as leased
    from pending_deliveries where webhook_id = ${id}
  `.execute(database);
  return rows;
}

async function ended(id: string) {
  const { rows } = await sql<{ status: string; attempts: number; count: number }>`
    select status, attempt_count as attempts, count(*)::int from deliveries where webhook_id = ${id} group by 1, 2
  `.execute(database);
  return rows;
}

async function limitOf(name: string) {
  const { rows } = await sql<{ ms: number; invalid: number }>`
    select (extract(epoch from open_at - queue_now()) * 1000)::float8 as ms, invalid from chat_limits where name = ${name}
  `.execute(database);
  return rows[0];
}

test('an event arrives on each platform as its message, unsigned, and its delivery shows that', async () => {
  const formats = ['discord', 'slack', 'teams'] as const;
  const all = [await create('discord'), await create('slack'), await create('teams')];
  assert.deepEqual(
    all.map(({ webhook }) => webhook.format),
    formats,
  );
  await announce(database);
  for (const { id, path } of all) {
    const delivery = await deliveryOf(id);
    assert.equal(delivery.status, 'succeeded');
    const [posted] = platform.posted(path);
    assert.deepEqual(posted, JSON.parse(delivery.body));
    assert.match(JSON.stringify(posted), /Acme joined the directory/);
    const { headers } = platform.received.find((each) => each.path === path) ?? assert.fail();
    const sent = Object.keys(headers).filter((name) => /^(x-|webhook-|traceparent)/.test(name));
    assert.deepEqual(sent, []);
    assert.equal(headers['content-type'], 'application/json; charset=utf-8');
  }
  await remove(...all);
});

test('the token of a channel is nowhere but sealed in its webhook', async () => {
  const made = await create('discord', { description: 'Announcements' });
  const masked = `${platform.origin}/…`;
  assert.equal(made.webhook.url, masked);
  // An error page that repeats the request.
  platform.instead.set(made.path, (response) =>
    response
      .writeHead(500, { location: `https://example.org${made.path}` })
      .end(`cannot POST ${made.path}, ${token(made.number)}`),
  );
  await announce(database);
  const delivery = await deliveryOf(made.id);
  assert.equal(delivery.attempts[0].responseBody, 'cannot POST ***, ***');
  assert.equal(delivery.attempts[0].responseHeaders.location, 'https://example.org***');
  const moved = platform.origin + discordPath(made.number + 1_000);
  assert.equal((await change(made.id, { url: moved })).body.data.url, masked);
  const bad = await change(made.id, { url: `${moved}/nothing` });
  const key = { 'idempotency-key': randomUUID() };
  const again = { method: 'POST', json: { url: moved, format: 'discord' }, headers: key };
  const first = await service.call('/webhooks', again);
  const second = await service.call('/webhooks', again);
  assert.deepEqual(second.body.data, first.body.data);
  const at = delivery.createdAt;
  const answers = [
    bad,
    first,
    await service.call('/webhooks'),
    await service.call(`/webhooks/${made.id}`),
    await service.call(`/webhooks/${made.id}/deliveries`),
    await service.call(
      `/webhooks/${made.id}/explain?event=org.created&subject=acme&at=${encodeURIComponent(at)}`,
    ),
  ];
  // Every row of every table, which everything else is made of: mails, audit log, exports, explanations, the console.
  const { rows: tables } = await sql<{ name: string }>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'orgdir'
  `.execute(database);
  let rows = '';
  for (const { name } of tables) {
    const { rows: found } = await sql<{ text: string | null }>`
      select string_agg(t::text, ' ') as text from ${sql.raw(name)} t
    `.execute(database);
    rows += found[0]?.text ?? '';
  }
  // Bytes are shown in hexadecimal.
  const hex = Buffer.from(token(made.number)).toString('hex');
  const all = [...answers.map(({ text }) => text), rows, logged, await service.metrics.render()];
  assert.ok(rows.includes(made.id) && logged.includes(made.id));
  for (const text of all) {
    assert.ok(!text.includes('s3cr3tToken'), text.slice(text.indexOf('s3cr3tToken') - 200));
    assert.ok(!text.includes(hex));
  }
  await remove(made, { id: first.body.data.id, path: '' });
});

test('the URL of a channel is refused for JSON, because it would be shown', async () => {
  for (const [format, path] of [
    ['discord', discordPath(6_001)],
    ['slack', slackPath(6_001)],
  ] as const) {
    const json = { url: platform.origin + path };
    const { status, body, text } = await service.call('/webhooks', { method: 'POST', json });
    assert.equal(status, 400);
    assert.match(body.error.message, new RegExp(`create a webhook with the format ${format}`));
    assert.ok(!text.includes(token(6_001)));
  }
});

test('a channel gets what passes its filters, and takes no headers of its owner', async () => {
  const headers = { Authorization: 'Bearer 7f3c9a' };
  const url = platform.origin + slackPath(6_000);
  const json = { url, format: 'slack', headers };
  const refused = await service.call('/webhooks', { method: 'POST', json });
  assert.equal(refused.status, 400);
  assert.match(refused.body.error.message, /headers: must be left out: a chat channel takes no/);
  const other = await create('slack', { filters: { 'org.created': { name: 'Other' } } });
  const filters = { 'org.created': { name: 'Acme' } };
  const made = await create('slack', { filters, headers: {} });
  assert.deepEqual([made.webhook.filters, made.webhook.headerNames], [filters, []]);
  assert.equal((await change(made.id, { headers })).status, 400);
  assert.equal((await change(made.id, { headers: null })).status, 200);
  await announce(database);
  await deliveryOf(made.id);
  assert.deepEqual(
    [made, other].map(({ path }) => platform.posted(path).length),
    [1, 0],
  );
  await remove(made, other);
});

test('the masked URL is refused, and the URL of another platform, and healing by probes', async () => {
  const made = await create('discord');
  const masked = await change(made.id, { url: made.webhook.url });
  assert.equal(masked.status, 400);
  assert.match(masked.body.error.message, /is the masked URL/);
  const slack = await change(made.id, { url: platform.origin + slackPath(1) });
  assert.equal(slack.status, 400);
  assert.match(slack.body.error.message, /must be the URL that Discord shows/);
  assert.equal((await change(made.id, { url: 'https://example.org/' })).status, 400);
  assert.equal((await change(made.id, { format: 'json' })).status, 400);
  for (const setting of ['selfHealing', 'replayAfterHealing'])
    assert.match((await change(made.id, { [setting]: true })).body.error.message, /not probed/);
  assert.equal((await read(made.id)).selfHealing, false);
  await remove(made);
});

test('an owner who moves a channel is audited as having changed the URL', async () => {
  const made = await create('slack');
  await change(made.id, { url: platform.origin + slackPath(9_000) });
  const { rows } = await sql<{ details: any }>`
    select details from audit_log where action = 'webhook.changed' and subject_id = ${made.id}
  `.execute(database);
  assert.deepEqual(rows[0]?.details.changed, ['url']);
  await announce(database);
  await deliveryOf(made.id);
  assert.equal(platform.posted(made.path).length, 0);
  assert.equal(platform.posted(slackPath(9_000)).length, 1);
  await remove(made);
});

test('messages that Discord would refuse wait, over all processes, and all arrive in one attempt each', async () => {
  const made = await create('discord');
  platform.bucket = { requests: 5, windowMs: 1_000 };
  platform.early = 0;
  for (let count = 0; count < 13; count += 1) await announce(database);
  await queueDrained(database);
  assert.equal(platform.posted(made.path).length, 13);
  const { rows } = await sql<{ status: string; attempts: number; made: number }>`
    select status, attempt_count as attempts, (select count(*) from attempts where delivery_id = d.id)::int as made
    from deliveries d where webhook_id = ${made.id}
  `.execute(database);
  assert.deepEqual(
    rows,
    Array.from({ length: 13 }, () => ({ status: 'succeeded', attempts: 1, made: 1 })),
  );
  // Two processes, each with one message in flight: they may meet at the end of a window, and no more.
  assert.ok(platform.early <= 3, `${platform.early} came too early`);
  await remove(made);
});

test('each process leases one message of a limited channel when it opens', async () => {
  const made = await create('discord');
  await sql`create sequence leases`.execute(database);
  await sql`
    create function count_lease() returns trigger language plpgsql as $$ begin perform nextval('leases'); return null; end $$
  `.execute(database);
  await sql`
    create trigger count_leases after update on pending_deliveries for each row
    when (old.lease_token is null and new.lease_token is not null) execute function count_lease()
  `.execute(database);
  platform.bucket = { requests: 1, windowMs: 500 };
  const messages = 6;
  for (let count = 0; count < messages; count += 1) await announce(database);
  await queueDrained(database);
  assert.equal(platform.posted(made.path).length, messages);
  const { rows } = await sql<{ leases: string }>`
    select last_value as leases from leases
  `.execute(database);
  // Two processes, and one is too late.
  assert.ok(
    Number(rows[0]?.leases) <= 2 * messages + 3,
    `${rows[0]?.leases} leases for ${messages} messages`,
  );
  await sql`drop trigger count_leases on pending_deliveries`.execute(database);
  await remove(made);
});

test('a backlog that waits for a platform is left where it is, and delays nobody', async () => {
  const made = await create('discord');
  await sql`
    insert into chat_limits values ('discord', queue_now() + interval '1 hour', queue_now(), 0, queue_now())
  `.execute(database);
  const changes = async () => {
    await sql`select pg_stat_clear_snapshot()`.execute(database);
    const { rows } = await sql<{ count: number }>`
      select (n_tup_ins + n_tup_upd + n_tup_del)::int as count from pg_stat_user_tables where relname = 'pending_deliveries'
    `.execute(database);
    return rows[0]?.count ?? 0;
  };
  const backlog = 60;
  const bystander = await create('slack');
  for (let count = 0; count < backlog; count += 1) await announce(database);
  await eventually(async () => platform.posted(bystander.path).length === backlog);
  const waiting = await pendingOf(made.id);
  assert.equal(waiting.length, backlog);
  assert.ok(waiting.every(({ attempts, leased }) => attempts === 0 || leased));
  assert.equal(platform.posted(made.path).length, 0);
  // Each of the other channel's was inserted, leased, deleted; a few of these were leased and put back.
  const total = await changes();
  assert.ok(total < backlog * 10, `${total} changes of rows`);
  await remove(made, bystander);
});

test('429 is no attempt: the delivery waits for as long as it says, and its webhook with it', async () => {
  const made = await create('slack');
  platform.instead.set(made.path, (response) => limit(response, { seconds: 3_600 }));
  await announce(database);
  const [pending] = await eventually(async () => {
    // In this order: the limit is stored while the delivery is leased.
    const limited = await limitOf(made.id);
    const all = await pendingOf(made.id);
    return limited && all.length > 0 && all.every(({ leased }) => !leased) && all;
  });
  assert.deepEqual(pending, { attempts: 0, parked: true, due: true, leased: false });
  const { ms = 0 } = (await limitOf(made.id)) ?? {};
  assert.ok(ms > 3_500_000 && ms <= 3_600_000, `waits ${ms} ms`);
  // The platform is closed for this channel only.
  const next = await create('slack');
  await announce(database);
  assert.equal((await deliveryOf(next.id)).status, 'succeeded');
  assert.equal((await read(made.id)).active, true);
  const requests = platform.received.filter(({ path }) => path === made.path).length;
  assert.ok(requests <= 2, `${requests} requests`);
  const { status, body } = await service.call(`/webhooks/${made.id}/test`, { method: 'POST' });
  assert.equal(status, 409);
  assert.match(
    body.error.message,
    /^Slack limits how often it is called\. Try again in \d+ seconds/,
  );
  await remove(made, next);
});

test('deliveries that have waited for a day fail without an attempt, however many they are', async () => {
  const made = await create('discord');
  const backlog = 20;
  await sql`
    insert into chat_limits values
      (${made.id}, queue_now() + interval '1 hour', queue_now() - interval '25 hours', 0, queue_now())
  `.execute(database);
  for (let count = 0; count < backlog; count += 1) await announce(database);
  const failed = [{ status: 'failed', attempts: 0, count: backlog }];
  await eventually(async () => (await pendingOf(made.id)).length === backlog);
  // A process that holds one would write its own time back.
  await eventually(async () => {
    const { rows } = await sql<{ young: number }>`
      with aged as (
        update pending_deliveries set created_at = created_at - interval '25 hours'
        where webhook_id = ${made.id} and lease_token is null and created_at > queue_now() - interval '1 hour'
        returning 1
      )
      select count(*)::int - (select count(*)::int from aged) as young from pending_deliveries
      where webhook_id = ${made.id} and created_at > queue_now() - interval '1 hour'
    `.execute(database);
    return rows[0]?.young === 0;
  });
  // Processes look again when they begin.
  const third = await startTestService({ env, chatOrigins, log, worker: true, beside: service });
  await eventually(async () => (await pendingOf(made.id)).length === 0);
  await stopParts(third);
  assert.deepEqual(await ended(made.id), failed);
  await eventually(async () => logged.includes('deliveries.gave_up'));
  assert.equal((await read(made.id)).active, true);
  await remove(made);
});

test('deliveries that are late for another reason wait for a platform as new ones do', async () => {
  const made = await create('discord');
  const backlog = 20;
  platform.bucket = { requests: 5, windowMs: 300 };
  // As after a day without a worker: both processes then read of waits that only one of them caused.
  await sql`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, created_at, due_at)
    select uuid_v7(queue_now()), id, name, ${made.id}, 'event', queue_now() - interval '25 hours', queue_now()
    from (select id, name from events where name = 'org.created' limit 1) e, generate_series(1, ${backlog}::int)
  `.execute(database);
  await eventually(async () => (await pendingOf(made.id)).length === 0);
  assert.deepEqual(await ended(made.id), [{ status: 'succeeded', attempts: 1, count: backlog }]);
  await remove(made);
});

test('a message that the platform takes ends a day of refusals', async () => {
  const made = await create('discord');
  await sql`
    insert into chat_limits values
      (${made.id}, queue_now() - interval '1 second', queue_now() - interval '25 hours', 0, queue_now()),
      -- Of others, whose requests were invalid.
      ('discord', queue_now(), null, 1, queue_now() + interval '5 minutes')
  `.execute(database);
  await announce(database);
  assert.equal((await deliveryOf(made.id)).status, 'succeeded');
  const since = async () => {
    const { rows } = await sql<{ hours: number | null }>`
      select (extract(epoch from queue_now() - closed_since) / 3600)::float8 as hours from chat_limits where name = ${made.id}
    `.execute(database);
    return rows[0]?.hours;
  };
  await eventually(async () => (await since()) === null);
  platform.instead.set(made.path, (response) => limit(response, { seconds: 60 }));
  await announce(database);
  const hours = await eventually(async () => (await since()) ?? null);
  assert.ok(hours < 1, `refused for ${hours} hours`);
  await remove(made);
});

test('a new URL does not wait for the limit of the one before', async () => {
  const made = await create('slack');
  platform.instead.set(made.path, (response) => limit(response, { seconds: 3_600 }));
  await service.call(`/webhooks/${made.id}/test`, { method: 'POST' });
  assert.ok(await limitOf(made.id));
  const url = platform.origin + slackPath(made.number + 1_000);
  assert.equal((await change(made.id, { url })).status, 200);
  const { body } = await service.call(`/webhooks/${made.id}/test`, { method: 'POST' });
  assert.equal(body.data.status, 'succeeded');
  await remove(made);
});

test('a limit of all of Discord holds back every channel, and no other platform', async () => {
  const [one, two] = [await create('discord'), await create('discord')];
  const teams = await create('teams');
  // As the network in front of Discord blocks an address.
  platform.instead.set(one.path, (response) => limit(response, { seconds: 600 }));
  await sql`update webhooks set active = true where id = ${one.id}`.execute(database);
  const tested = await service.call(`/webhooks/${one.id}/test`, { method: 'POST' });
  assert.equal(tested.body.data.status, 'failed');
  assert.ok(((await limitOf('discord'))?.ms ?? 0) > 500_000);
  await announce(database);
  assert.equal((await deliveryOf(teams.id)).status, 'succeeded');
  const pending = await eventually(async () => {
    const all = await pendingOf(two.id);
    return all.length > 0 && all.every(({ leased }) => !leased) && all;
  });
  assert.deepEqual(pending, [{ attempts: 0, parked: true, due: true, leased: false }]);
  assert.equal(platform.posted(two.path).length, 0);
  await remove(one, two, teams);
});

test('too many refused requests close Discord until their window ends', async () => {
  const made = await create('discord');
  await sql`
    insert into chat_limits
    values ('discord', queue_now(), queue_now(), ${invalidMax - 1}, queue_now() + interval '5 minutes')
  `.execute(database);
  platform.instead.set(made.path, refuse(403, 50_013));
  await service.call(`/webhooks/${made.id}/test`, { method: 'POST' });
  const { ms = 0, invalid } = (await limitOf('discord')) ?? {};
  assert.equal(invalid, invalidMax);
  assert.ok(ms > 240_000 && ms <= 300_000, `closed for ${ms} ms`);
  // The refused webhook has to wait by itself as well.
  assert.ok(((await limitOf(made.id))?.ms ?? 0) > 0);
  await remove(made);
});

test('a wait from before the clock was put back holds nothing', async () => {
  const made = await create('discord');
  await sql`
    insert into chat_limits
    select name, queue_now() + interval '2 days', queue_now(), ${invalidMax}, queue_now() + interval '2 days'
    from unnest(array['discord', ${made.id}]) as g(name)
  `.execute(database);
  await announce(database);
  assert.equal((await deliveryOf(made.id)).status, 'succeeded');
  platform.instead.set(made.path, refuse(403, 50_013));
  await service.call(`/webhooks/${made.id}/test`, { method: 'POST' });
  assert.equal((await limitOf('discord'))?.invalid, 1);
  const { ms = 0 } = (await limitOf(made.id)) ?? {};
  assert.ok(ms > 0 && ms <= 60_000, `waits ${ms} ms`);
  await remove(made);
});

test('a refusal that Discord does not count does not count here', async () => {
  const made = await create('discord');
  platform.instead.set(made.path, (response) => limit(response, { seconds: 1, scope: 'shared' }));
  await service.call(`/webhooks/${made.id}/test`, { method: 'POST' });
  assert.equal(await limitOf('discord'), undefined);
  assert.ok(await limitOf(made.id));
  await remove(made);
});

test('a webhook that Discord does not know is gone at once, and its owners hear why', async () => {
  const made = await create('discord');
  platform.instead.set(made.path, refuse(404, 10_015));
  await announce(database);
  const delivery = await deliveryOf(made.id);
  assert.deepEqual([delivery.status, delivery.attemptCount], ['failed', 1]);
  const webhook = await eventually(async () => {
    const now = await read(made.id);
    return !now.active && now;
  });
  assert.equal(webhook.deactivatedReason, 'gone');
  const { rows } = await sql<{ kind: string; reason: string; status: number }>`
    select kind, reason, status_code as status from operational_events where webhook_id = ${made.id}
  `.execute(database);
  assert.deepEqual(rows, [{ kind: 'webhook.deactivated', reason: 'gone', status: 404 }]);
  await remove(made);
});

test('a channel that is gone does not end a webhook that has left it meanwhile', async () => {
  const made = await create('discord');
  const [arrived, respond] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  platform.instead.set(made.path, async (response) => {
    arrived.resolve();
    await respond.promise;
    refuse(404, 10_015)(response);
  });
  await announce(database);
  await arrived.promise;
  const url = platform.origin + discordPath(made.number + 1_000);
  assert.equal((await change(made.id, { url })).status, 200);
  respond.resolve();
  assert.equal((await deliveryOf(made.id)).status, 'failed');
  await queueDrained(database);
  assert.equal((await read(made.id)).active, true);
  await remove(made);
});

test('another 404 is tried again, and a channel that fails is never probed', async () => {
  const made = await create('teams');
  platform.instead.set(made.path, refuseText(500, 'no'));
  await announce(database);
  assert.equal((await deliveryOf(made.id)).attemptCount, 6);
  const webhook = await eventually(async () => {
    const now = await read(made.id);
    return !now.active && now;
  });
  assert.equal(webhook.deactivatedReason, 'failing');
  assert.equal(webhook.nextProbeAt, null);
  assert.deepEqual(await pendingOf(made.id), []);
  await remove(made);
  const retried = await create('discord');
  platform.instead.set(retried.path, refuseText(404, '<html>not found</html>'));
  await announce(database);
  const [waiting] = await eventually(async () => {
    // In this order: the limit is stored while the delivery is leased.
    const limited = await limitOf(retried.id);
    const all = await pendingOf(retried.id);
    return limited && all.length > 0 && all.every(({ leased }) => !leased) && all;
  });
  assert.equal(waiting?.attempts, 1);
  assert.equal((await read(retried.id)).active, true);
  await remove(retried);
});

test('a URL that cannot be decrypted waits as a secret does, and "webhooks reseal" covers it', async () => {
  const made = await create('slack');
  const { rows } = await sql<{ sealed: Buffer }>`
    select sealed_url as sealed from webhooks where id = ${made.id}
  `.execute(database);
  const { sealed } = rows[0] ?? assert.fail();
  const oldBox = createSecretBox([Buffer.alloc(32, 1)]);
  const foreign = oldBox.seal(platform.origin + made.path, `${made.id}/url`);
  await sql`update webhooks set sealed_url = ${foreign} where id = ${made.id}`.execute(database);
  await announce(database);
  const reason = new RegExp(
    `"webhookId":"${made.id}","reason":"SECRET_KEY lacks.*secret.unreadable`,
  );
  await eventually(async () => reason.test(logged));
  const pending = await eventually(async () => {
    const all = await pendingOf(made.id);
    return all.every(({ leased }) => !leased) && all;
  });
  assert.deepEqual(pending, [{ attempts: 0, parked: true, due: true, leased: false }]);
  assert.equal((await service.call(`/webhooks/${made.id}/test`, { method: 'POST' })).status, 503);
  const without = await resealSecrets(database, service.secretBox, webhookSecrets);
  assert.deepEqual(without.unreadable, [made.id]);
  const both = createSecretBox([...service.secretKeys, Buffer.alloc(32, 1)]);
  const done = await resealSecrets(database, both, webhookSecrets);
  assert.deepEqual([done.resealed, done.unreadable], [1, []]);
  assert.equal(
    service.secretBox.open(
      (
        await sql<{ sealed: Buffer }>`
          select sealed_url as sealed from webhooks where id = ${made.id}
        `.execute(database)
      ).rows[0]?.sealed ?? sealed,
      `${made.id}/url`,
    ),
    platform.origin + made.path,
  );
  // Processes look again when they begin.
  const third = await startTestService({ env, chatOrigins, log, worker: true, beside: service });
  assert.equal((await deliveryOf(made.id)).status, 'succeeded');
  await stopParts(third);
  await remove(made);
});

test('texts that only a newer release has wait for one of its processes', async () => {
  const made = await create('discord');
  await sql`alter table events alter column template set default 999`.execute(database);
  await announce(database);
  const [pending] = await eventually(async () => {
    const all = await pendingOf(made.id);
    return all.some(({ due, leased }) => !due && !leased) && all;
  });
  await sql`alter table events alter column template set default 1`.execute(database);
  assert.deepEqual(pending, { attempts: 0, parked: false, due: false, leased: false });
  await remove(made);
});

test('no chat webhook is made while a process of an earlier release delivers', async () => {
  await sql`insert into workers (id, seen_at) values (${randomUUID()}, queue_now())`.execute(
    database,
  );
  const json = { url: platform.origin + discordPath(5_000), format: 'discord' };
  const refused = await service.call('/webhooks', { method: 'POST', json });
  assert.equal(refused.status, 409);
  assert.match(refused.body.error.message, /do not know chat channels yet/);
  const json2 = { url: 'https://example.org/', format: 'json' };
  const made = await service.call('/webhooks', { method: 'POST', json: json2 });
  assert.equal(made.status, 201);
  await sql`delete from workers where migration is null`.execute(database);
  await remove({ id: made.body.data.id, path: '' });
});

test('a suspended channel cannot be registered again, through any host of Discord, and another one can', async () => {
  const outside = await startTestService({ beside: service });
  const post = async (url: string) =>
    (await outside.call('/webhooks', { method: 'POST', json: { url, format: 'discord' } })).body;
  const path = discordPath(7_000).slice('/api'.length);
  const { data } = await post(`https://discord.com/api${path}`);
  await sql`insert into suspensions (webhook_id, reason) values (${data.id}, 'Spam')`.execute(
    database,
  );
  for (const url of [
    `discord.com/api${path}?wait=true`,
    `discordapp.com/api${path}`,
    `canary.discord.com/api/v10${path}`,
  ])
    assert.equal((await post(`https://${url}`)).error.code, 'suspended', url);
  const next = await create('discord');
  await sql`delete from suspensions`.execute(database);
  await remove({ id: data.id, path: '' }, next);
});
