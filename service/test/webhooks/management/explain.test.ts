/** Explanations over HTTP: each reason, what they reveal, and times without a record. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { deleteApp } from '../../../src/access/apps.ts';
import { unbindApp } from '../../../src/access/bindings.ts';
import { removeManager, type Subject } from '../../../src/access/managers.ts';
import { lockApp } from '../../../src/access/require-role.ts';
import { sql } from '../../../src/database/database.ts';
import { setAside, take } from '../../../src/events/set-aside.ts';
import { findAlliance } from '../../../src/directory/alliances.ts';
import { findOrg } from '../../../src/directory/orgs.ts';
import { changeRefused } from '../../../src/http/operator/refused.ts';
import { publishEvent } from '../../../src/directory/publish-in-groups.ts';
import { requireAppOf } from '../../../src/webhooks/management/list-all-deliveries.ts';
import { claimParked } from '../../../src/webhooks/queue/dispatch/claim.ts';
import { recordAttempts } from '../../../src/webhooks/queue/record/record.ts';
import { dropOldVersions } from '../../../src/webhooks/history/retention.ts';
import { testActor } from '../../support/actor.ts';
import { put } from '../../support/directory.ts';
import { fanOutParked } from '../../support/queue.ts';
import { attemptOf, newLease } from '../../support/queue-steps.ts';
import { makeKey, startTestService, testPublicUrl } from '../../support/service.ts';

const service = await startTestService();
const { database } = service;
await put(database, 'orgs', [
  { slug: 'acme', name: 'Acme' },
  { slug: 'rival', name: 'Rival' },
  { slug: 'hidden', name: 'Hidden', listed: false },
]);
const acme = { kind: 'organization', id: (await findOrg(database, 'acme'))!.id } as const;
await put(database, 'alliances', [{ slug: 'acme', name: 'Acme' }]);
const alliance = { kind: 'alliance', id: (await findAlliance(database, 'acme'))!.id } as const;

async function makeWebhook(json: { events?: string[] } = {}, bindTo?: Subject) {
  const { key, appId } = await makeKey(service, bindTo ? { bindTo } : {});
  const { body } = await service.call('/webhooks', {
    method: 'POST',
    key,
    json: { url: 'https://example.org/', ...json },
  });
  return { id: body.data.id as string, key, appId };
}

async function publish(org: string, name = 'application.created'): Promise<string> {
  const application = {
    id: 'a-1',
    applicantHandle: 'wanderer',
    submittedAt: '2026-11-20T12:00:00.000Z',
  };
  const data = name === 'application.created' ? application : null;
  return database
    .transaction()
    .execute((tx) =>
      publishEvent(tx, { name, org, alliance: null, data, publicUrl: testPublicUrl }),
    );
}

type Webhook = Awaited<ReturnType<typeof makeWebhook>>;
const explain = ({ id, key }: Webhook, eventId: string) =>
  service.call(`/webhooks/${id}/explain/${eventId}`, { key });
const explainTime = ({ id, key }: Webhook, query: Record<string, string>) =>
  service.call(`/webhooks/${id}/explain?${new URLSearchParams(query).toString()}`, { key });
const patch = ({ id, key }: Webhook, json: object) =>
  service.call(`/webhooks/${id}`, { method: 'PATCH', key, json });

test('an event waits, has a delivery, or was not sent for a reason', async () => {
  const getting = await makeWebhook({}, acme);
  const other = await makeWebhook({ events: ['org.created'] }, acme);
  const inactive = await makeWebhook({}, acme);
  await patch(inactive, { active: false });
  const eventId = await publish('acme');
  const waiting = (await explain(getting, eventId)).body.data;
  assert.deepEqual([waiting.result, waiting.unknown], ['waiting', []]);
  await fanOutParked(database);
  const late = await service.call('/webhooks', {
    method: 'POST',
    key: getting.key,
    json: { url: 'https://example.org/' },
  });
  // What changes afterwards does not change the reason.
  await patch(inactive, { active: true });
  await patch(other, { events: null });

  const delivered = (await explain(getting, eventId)).body.data;
  assert.deepEqual(
    [delivered.result, delivered.delivery.status, delivered.delivery.eventId],
    ['delivered', 'pending', eventId],
  );
  // It has no attempts that could show anything.
  assert.match(delivered.message, /waits for its first attempt/);
  const unsubscribed = (await explain(other, eventId)).body.data;
  assert.deepEqual(
    [unsubscribed.result, unsubscribed.checks, unsubscribed.unknown],
    [
      'not_sent',
      { bound: true, listed: null, existed: true, active: true, subscribed: false, passed: null },
      [],
    ],
  );
  assert.match(unsubscribed.message, /not subscribed to application\.created/);
  const missed = (await explain(inactive, eventId)).body.data;
  assert.deepEqual([missed.result, missed.checks.active], ['not_sent', false]);
  assert.match(missed.message, /deactivated/);
  const unborn = (await explain({ ...getting, id: late.body.data.id }, eventId)).body.data;
  assert.deepEqual([unborn.result, unborn.checks.existed], ['not_sent', false]);
});

test('an event or a delivery that was set aside waits for the operator', async () => {
  const webhook = await makeWebhook({}, acme);
  const stranger = await makeWebhook();
  const [eventId, stored] = [await publish('acme'), await publish('acme')];
  const expect = async (id: string) => {
    const { result, message, unknown } = (await explain(webhook, id)).body.data;
    assert.deepEqual([result, unknown], ['waiting', []]);
    assert.match(message, /operator .* a replay does not/);
    assert.equal((await explain(stranger, id)).body.data.result, 'unavailable');
  };
  const error = new Error('refused');
  await setAside(database, {
    source: 'outbox',
    stage: 'fan-out',
    error,
    moved: take('outbox', sql`id = ${eventId}`),
  });
  await expect(eventId);
  await fanOutParked(database);
  assert.equal((await explain(webhook, stored)).body.data.result, 'delivered');
  await setAside(database, {
    source: 'pending_deliveries',
    stage: 'claim',
    error,
    moved: take('pending_deliveries', sql`webhook_id = ${webhook.id}`),
  });
  await expect(stored);
  await changeRefused(database, testActor, 'drop', null);
  const { body } = await explain(webhook, stored);
  assert.equal(body.data.result, 'unknown');
  assert.match(body.data.message, /no delivery.* operator dropped it.* replay sends it/);
  const json = { since: new Date(Date.now() - 3_600_000).toISOString(), dryRun: true };
  const { key } = webhook;
  const replay = await service.call(`/webhooks/${webhook.id}/replay`, {
    method: 'POST',
    key,
    json,
  });
  assert.equal(replay.body.data.missed, 1);
});

test('a delivery that failed without an attempt is not explained by its receiver', async () => {
  const webhook = await makeWebhook({}, acme);
  const eventId = await publish('acme');
  await fanOutParked(database);
  const claimed = await claimParked(database, newLease(), new Map([[webhook.id, 1]]));
  const [leased] = claimed.leased;
  const givenUp = { statusCode: null, verdict: { kind: 'given_up' } } as const;
  await recordAttempts(database, [attemptOf(leased ?? assert.fail(), givenUp)]);
  const { delivery, message } = (await explain(webhook, eventId)).body.data;
  assert.deepEqual([delivery.status, delivery.attemptCount], ['failed', 0]);
  assert.match(message, /without an attempt/);
});

test('nobody is told to send again what the app can no longer get', async () => {
  const webhook = await makeWebhook({}, acme);
  const eventId = await publish('acme');
  await fanOutParked(database);
  await patch(webhook, { active: false });
  await patch(webhook, { active: true });
  const messageNow = async () => (await explain(webhook, eventId)).body.data.message as string;
  assert.match(await messageNow(), /cancelled because the webhook was deactivated\. .* replay/);
  await database.transaction().execute((tx) => unbindApp(tx, testActor, webhook.appId));
  const ended = await messageNow();
  assert.match(ended, /cancelled because the webhook was deactivated\. The app can no longer get/);
  assert.doesNotMatch(ended, /replay|redeliver/);
  await sql`
    update deliveries set status = 'failed', cancelled_by = null where webhook_id = ${webhook.id}
  `.execute(database);
  for (const attempts of [0, 6]) {
    await sql`
      update deliveries set attempt_count = ${attempts} where webhook_id = ${webhook.id}
    `.execute(database);
    const failed = await messageNow();
    assert.match(failed, /failed.*The app can no longer get/);
    assert.doesNotMatch(failed, /redeliver/i);
  }
});

test('an event that the app may not have looks like a missing one, byte for byte', async () => {
  const webhook = await makeWebhook();
  const foreign = await makeWebhook();
  const sent = await service.call(`/webhooks/${foreign.id}/test`, {
    method: 'POST',
    key: foreign.key,
  });
  const bound = await makeWebhook({}, acme);
  const eventId = await publish('acme');
  const waiting = await explain(webhook, eventId);
  await fanOutParked(database);
  const missing = await explain(webhook, randomUUID());
  assert.equal(missing.body.data.result, 'unavailable');
  for (const one of [
    waiting,
    await explain(webhook, eventId),
    await explain(webhook, sent.body.data.eventId),
  ]) {
    assert.equal(one.text, missing.text);
    assert.equal(one.headers.get('etag'), missing.headers.get('etag'));
  }
  // A delivery is known to its app even when the app may not have the event any more.
  await database.transaction().execute((tx) => unbindApp(tx, testActor, bound.appId));
  assert.equal((await explain(bound, eventId)).body.data.result, 'delivered');
  assert.equal((await explain({ ...bound, id: webhook.id }, eventId)).status, 404);
});

test('an event is also explained by its name, subject and time', async () => {
  const webhook = await makeWebhook({}, acme);
  const eventId = await publish('acme');
  await fanOutParked(database);
  const query = { event: 'application.created', subject: 'acme', at: new Date().toISOString() };
  const known = (await explainTime(webhook, query)).body.data;
  assert.equal(known.result, 'would_send');
  assert.ok(known.nearby.some(({ id }: { id: string }) => id === eventId));

  const unlisted = await explainTime(webhook, { ...query, subject: 'hidden' });
  assert.deepEqual(
    [unlisted.body.data.result, unlisted.body.data.checks.bound, unlisted.body.data.nearby],
    ['not_sent', false, []],
  );
  const missing = await explainTime(webhook, { ...query, subject: 'nobody' });
  assert.equal(unlisted.text, missing.text);
  const announced = { ...query, event: 'org.created' };
  assert.equal((await explainTime(webhook, announced)).body.data.result, 'would_send');
  const { data } = (await explainTime(webhook, { ...announced, subject: 'nobody' })).body;
  assert.equal(data.result, 'unavailable');
  assert.match(data.message, /Check the slug/);
  const later = new Date(Date.now() + 3_600_000).toISOString();
  const { status, body } = await explainTime(webhook, { ...query, at: later });
  assert.deepEqual([status, body.error.message], [400, 'query.at: must not be in the future']);
  assert.equal(
    (await explainTime(webhook, { ...announced, subject: 'hidden' })).text,
    (await explainTime(webhook, { ...announced, subject: 'nobody' })).text,
  );

  await database.transaction().execute((tx) => unbindApp(tx, testActor, webhook.appId));
  // Rounded up, because the database's times are finer.
  const at = new Date(Date.now() + 1).toISOString();
  const after = (await explainTime(webhook, { ...query, at })).body.data;
  assert.deepEqual([after.result, after.checks.bound], ['not_sent', false]);
  const then = (await explainTime(webhook, query)).body.data;
  assert.deepEqual([then.checks.bound, then.nearby], [true, []]);
});

test('an organisation and an alliance of the same slug are told apart', async () => {
  for (const [subject, event] of [
    [acme, 'application.created'],
    [alliance, 'resource.offer.created'],
    [alliance, 'resource.request.created'],
    [acme, 'event.created'],
  ] as const) {
    for (const boundTo of [acme, alliance]) {
      const webhook = await makeWebhook({}, boundTo);
      // Rounded up, because the database's times are finer.
      const at = new Date(Date.now() + 1).toISOString();
      const { body } = await explainTime(webhook, { event, subject: 'acme', at });
      const { result, checks } = body.data;
      const expected = boundTo === subject ? ['would_send', true] : ['not_sent', false];
      assert.deepEqual(
        [result, checks.bound],
        expected,
        `${event} for one bound to ${boundTo.kind}`,
      );
    }
  }
});

test('what was renamed is explained by its former slug too, to whoever may know that it had it', async () => {
  await put(database, 'orgs', [
    { slug: 'before', name: 'Before' },
    { slug: 'never-shown', name: 'Shown later', listed: false },
  ]);
  const renamed = { kind: 'organization', id: (await findOrg(database, 'before'))!.id } as const;
  const [webhook, stranger] = [await makeWebhook({}, renamed), await makeWebhook({}, acme)];
  const eventId = await publish('before');
  await fanOutParked(database);
  const at = new Date(Date.now() + 1).toISOString();
  await sql`update orgs set slug = 'after' where slug = 'before'`.execute(database);
  // Before it is listed, so that nobody outside can know its former slug.
  await sql`update orgs set slug = 'shown' where slug = 'never-shown'`.execute(database);
  await sql`update orgs set listed = true where slug = 'shown'`.execute(database);

  const query = { event: 'application.created', at };
  for (const subject of ['before', 'after']) {
    const { result, nearby } = (await explainTime(webhook, { ...query, subject })).body.data;
    assert.deepEqual(
      [result, nearby.map(({ id }: { id: string }) => id)],
      ['would_send', [eventId]],
      subject,
    );
  }
  const ofNobody = (event: string) => explainTime(stranger, { at, event, subject: 'nobody' });
  const unbound = await explainTime(stranger, { ...query, subject: 'before' });
  assert.equal(unbound.text, (await ofNobody(query.event)).text);
  const announced = { event: 'org.created', at };
  const listed = await explainTime(stranger, { ...announced, subject: 'before' });
  assert.equal(listed.body.data.result, 'would_send');
  const unknown = await explainTime(stranger, { ...announced, subject: 'never-shown' });
  assert.equal(unknown.text, (await ofNobody('org.created')).text);
});

test('an explanation reads no day but that of the event', async () => {
  const webhook = await makeWebhook({}, acme);
  const eventId = await publish('acme');
  await fanOutParked(database);
  await sql`select ensure_partitions(current_date - 3, current_date)`.execute(database);
  const query = { event: 'application.created', subject: 'acme', at: new Date().toISOString() };
  await database.transaction().execute(async (tx) => {
    await sql`
      do $$ begin execute format('lock deliveries_%1$s, events_%1$s', to_char(now() - interval '3 days', 'YYYYMMDD')); end $$
    `.execute(tx);
    assert.equal((await explain(webhook, eventId)).body.data.result, 'delivered');
    assert.equal((await explainTime(webhook, query)).body.data.result, 'would_send');
  });
});

test('times without a record are unknown', async () => {
  const webhook = await makeWebhook({}, acme);
  const eventId = await publish('acme');
  await patch(webhook, { active: false });
  await fanOutParked(database);
  await patch(webhook, { active: true });
  await sql`
    update webhook_versions set valid_from = valid_from - interval '40 days', valid_to = valid_to - interval '40 days'
    where webhook_id = ${webhook.id} and valid_to is not null
  `.execute(database);
  await dropOldVersions(database, 30);
  const unknown = (await explain(webhook, eventId)).body.data;
  assert.equal(unknown.result, 'unknown');
  assert.deepEqual(
    [unknown.checks, unknown.unknown],
    [
      { bound: true, listed: null, existed: null, active: null, subscribed: null, passed: null },
      ['existed', 'active', 'subscribed'],
    ],
  );
});

test('a manager is removed while the app of a binding is being changed', async () => {
  const { appId, owner } = await makeKey(service, { bindTo: acme });
  await database.transaction().execute(async (tx) => {
    await lockApp(tx, appId);
    await database.transaction().execute(async (other) => {
      await sql`set local lock_timeout = '2s'`.execute(other);
      assert.equal(await removeManager(other, testActor, acme, owner), true);
    });
    // Ends the same binding, if it were still there.
    await deleteApp(tx, testActor, appId);
  });
  const { rows } = await sql`select from binding_versions where app_id = ${appId}`.execute(
    database,
  );
  assert.equal(rows.length, 0, 'versions of a deleted app');
});

test('an operator names a webhook without its app', async () => {
  const webhook = await makeWebhook();
  assert.equal(await requireAppOf(database, webhook.id), webhook.appId);
  await assert.rejects(requireAppOf(database, randomUUID()), { code: 'not_found' });
});
