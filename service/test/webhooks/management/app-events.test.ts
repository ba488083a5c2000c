import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../../src/database/database.ts';
import { createCursors } from '../../../src/events/cursors.ts';
import { listAppEvents } from '../../../src/webhooks/management/app-events.ts';
import { publishEvent } from '../../../src/directory/publish-in-groups.ts';
import { announce, put } from '../../support/directory.ts';
import { eventually } from '../../support/eventually.ts';
import { loopbackAllowed, startReceiver } from '../../support/receiver.ts';
import { makeKey, startTestService, testPublicUrl } from '../../support/service.ts';

const service = await startTestService({ env: loopbackAllowed, worker: true });
const { database } = service;
const [acme, other] = ['acme', 'other'];
await put(database, 'orgs', [
  { slug: acme, name: 'Acme' },
  { slug: other, name: 'Other' },
]);
const { rows: orgs } = await sql<{ id: string }>`
  select id from orgs where slug = ${acme}
`.execute(database);
const bound = await makeKey(service, { bindTo: { kind: 'organization', id: orgs[0]?.id ?? '' } });

function application(org: string): Promise<string> {
  const data = { id: 'a-1', applicantHandle: 'ada', submittedAt: '2026-11-21T12:00:00.000Z' };
  const publication = { name: 'application.created', org, alliance: null, data } as const;
  return database
    .transaction()
    .execute((tx) => publishEvent(tx, { ...publication, publicUrl: testPublicUrl }));
}

const cursors = createCursors([Buffer.alloc(32, 1)]);
const read = (appId: string, before: string | null = null, limit = 25) =>
  listAppEvents(database, cursors, appId, { before, limit });
const ids = ({ events }: Awaited<ReturnType<typeof read>>) => events.map(({ id }) => id);

test('an app has its events newest first, page by page, and those of others never', async () => {
  const first = await announce(database, acme);
  const own = await application(acme);
  const foreign = await application(other);
  const last = await announce(database, other);
  const all = await eventually(async () => {
    const page = await read(bound.appId);
    return page.events.length === 3 ? page : null;
  });
  assert.deepEqual(ids(all), [last, own, first]);
  assert.deepEqual(ids(await read(service.appId)), [last, first]);
  const newest = await read(bound.appId, null, 2);
  assert.deepEqual([ids(newest), newest.hasMore], [[last, own], true]);
  const older = await read(bound.appId, newest.nextCursor, 2);
  assert.deepEqual([ids(older), older.hasMore], [[first], false]);
  const end = await read(bound.appId, older.nextCursor);
  assert.deepEqual(end, { events: [], nextCursor: older.nextCursor, hasMore: false });
  assert.deepEqual(all.events[1]?.subject, { kind: 'organization', slug: acme, name: 'Acme' });
  for (const unknown of [crypto.randomUUID(), foreign, newest.nextCursor])
    await assert.rejects(read(service.appId, unknown), { code: 'validation_failed' });
});

test('the list goes on where it was, when the app may no longer have its last event', async () => {
  const before = await announce(database, acme);
  const hidden = await announce(database, other);
  const page = await eventually(async () => {
    const newest = await read(service.appId, null, 1);
    return newest.events[0]?.id === hidden ? newest : null;
  });
  await sql`update orgs set listed = false where slug = ${other}`.execute(database);
  assert.equal(ids(await read(service.appId))[0], before);
  assert.equal(ids(await read(service.appId, page.nextCursor))[0], before);
});

test('each event says what became of it at every webhook, and why', async () => {
  const receiver = await startReceiver();
  const webhook = async (events: string[] | null) => {
    const json = { url: receiver.url, events };
    const { body } = await service.call('/webhooks', { key: bound.key, method: 'POST', json });
    return body.data.id as string;
  };
  const [takes, not] = [await webhook(null), await webhook(['alliance.created'])];
  const id = await announce(database, acme);
  const outcomes = await eventually(async () => {
    const [newest] = (await read(bound.appId)).events;
    const isDone = newest?.webhooks.some(({ delivery }) => delivery?.status === 'succeeded');
    return newest?.id === id && isDone ? newest.webhooks : null;
  });
  const resultOf = (one: string) => outcomes.find(({ webhookId }) => webhookId === one);
  assert.equal(outcomes.length, 2);
  assert.equal(resultOf(takes)?.result, 'delivered');
  assert.equal(resultOf(not)?.result, 'not_sent');
  assert.match(resultOf(not)?.message ?? '', /not subscribed to org\.created/);
  // A fan-out may take longer than usual between the time that it gives the event and that of its deliveries.
  await sql`
    update deliveries set id = uuid_v7(created_at + interval '30 seconds') where event_id = ${id} and webhook_id = ${takes}
  `.execute(database);
  const [late, before] = (await read(bound.appId)).events;
  assert.equal(late?.webhooks.find(({ webhookId }) => webhookId === takes)?.result, 'delivered');
  assert.match(before?.webhooks[0]?.message ?? '', /did not exist then/);
});
