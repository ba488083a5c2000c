/** More requests than the database can take: those that would wait for long are refused at once, and the rest is served. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { sql } from '../../src/database/database.ts';
import { waitingMax } from '../../src/database/pool.ts';
import { waitingEventsMax } from '../../src/directory/publish-in-groups.ts';
import { put } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { startInternalApi } from '../support/internal-api.ts';
import { startTestService, type Answer } from '../support/service.ts';

const lines: string[] = [];
const log = pino({}, { write: (line: string) => void lines.push(line) });
const service = await startTestService({ log });
const { database, publishing, readiness, revisions, search } = service;
const internal = await startInternalApi(service);
await put(database, 'alliances', [{ slug: 'league', name: 'League' }]);
search.start();
await eventually(async () => search.loading().indexes.length === 0);

const event = (id: number) => ({
  event: 'resource.offer.created',
  alliance: 'league',
  data: { id: String(id), organization: null, title: 't', items: [], availableUntil: null },
});
const post = (json: unknown) => internal.call('/events', { method: 'POST', json });
const statuses = (answers: Answer[]) =>
  Object.groupBy(answers, ({ status, body }) => `${status} ${body.error?.code ?? ''}`.trim());

test('requests that would wait behind many others are refused at once, and the others are served', async () => {
  const locking = await database.startTransaction().execute();
  // The process does not know the key yet, and asks for it with each request.
  await sql`lock table api_keys in access exclusive mode`.execute(locking);
  let refused = 0;
  const requests = Array.from({ length: 2 * waitingMax }, async (_, id) => {
    const answer = await post(event(id));
    refused += Number(answer.status === 503);
    return answer;
  });
  await eventually(async () => refused > waitingMax / 2);
  // The process still knows its database, although nobody else gets a connection.
  await eventually(async () => (await readiness.check()).kind === 'ready');
  await eventually(async () => revisions.current('access') !== null);
  await locking.rollback().execute();
  const {
    201: published,
    '503 unavailable': unavailable,
    ...others
  } = statuses(await Promise.all(requests));
  assert.deepEqual(Object.keys(others), []);
  assert.equal(unavailable?.length, refused);
  assert.ok(published);
  const logged = lines.filter((line) => line.includes('request.failed')).length;
  assert.ok(logged > 0 && logged < refused / 2, `${logged} lines of ${refused} failures`);
  assert.equal((await post(event(0))).status, 201);
});

test('events that would wait behind many others are refused at once, and the others are stored', async () => {
  assert.equal((await post(event(0))).status, 201);
  const held = [
    await publishing.startTransaction().execute(),
    await publishing.startTransaction().execute(),
  ];
  const bulk = Array.from({ length: 256 }, (_, id) => event(id));
  let refused = 0;
  const requests = Array.from({ length: (2 * waitingEventsMax) / bulk.length }, async () => {
    const answer = await post(bulk);
    refused += Number(answer.status === 503);
    return answer;
  });
  await eventually(async () => refused > 0);
  for (const transaction of held) await transaction.rollback().execute();
  const {
    200: published,
    '503 unavailable': unavailable,
    ...others
  } = statuses(await Promise.all(requests));
  assert.deepEqual(Object.keys(others), []);
  assert.ok(unavailable);
  for (const { body } of published ?? []) assert.equal(body.data.published, bulk.length);
  assert.ok((published?.length ?? 0) >= waitingEventsMax / bulk.length);
  assert.equal((await post(event(0))).status, 201);
});
