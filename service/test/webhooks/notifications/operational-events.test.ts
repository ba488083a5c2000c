/** What is recorded for a webhook's owner: once for each time it begins to fail and each deactivation, and within bounds. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from '../../../src/database/database.ts';
import { dropOldOperationalEvents } from '../../../src/webhooks/notifications/operational-events.ts';
import { recordAttempts } from '../../../src/webhooks/queue/record/record.ts';
import { updateWebhookHealth } from '../../../src/webhooks/queue/health/update-webhook-health.ts';
import {
  listWebhookStates,
  webhookStatesMax,
} from '../../../src/webhooks/management/webhook-states.ts';
import { countRows } from '../../support/count-rows.ts';
import { openTestDatabase, toUrl } from '../../support/database.ts';
import { put } from '../../support/directory.ts';
import { eventually } from '../../support/eventually.ts';
import { loopbackAllowed, startReceiver } from '../../support/receiver.ts';
import {
  attemptOf,
  failed,
  insertLeased,
  recordNew,
  succeeded,
} from '../../support/queue-steps.ts';
import { runHere } from '../../support/run-here.ts';
import { makeKey, startTestService } from '../../support/service.ts';

const opened = await openTestDatabase();
const { database } = opened;
const { appId } = await makeKey(opened);

async function makeWebhook(): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    insert into webhooks (id, app_id, url, secret)
    values (uuid_v7(), ${appId}, 'https://user-content.example:8443/in/hunter2?token=hunter2', 'x') returning id
  `.execute(database);
  return rows[0]?.id ?? '';
}

type Outcome = Parameters<typeof recordNew>[1];

/** The last attempt of a delivery that failed, except as `more` says. */
const exhausted = (webhookId: string, more: Partial<Outcome> = {}): Outcome => ({
  webhookId,
  ...failed,
  ...more,
});
const success = (webhookId: string): Outcome => ({ webhookId, ...succeeded });

/** Records these attempts in one batch and updates the health of their webhooks. */
async function updateHealth(...outcomes: Outcome[]) {
  await recordNew(database, ...outcomes);
  return (await updateWebhookHealth(database, 5)).deactivated;
}

type Row = {
  kind: string;
  reason: string | null;
  status_code: number | null;
  error: string | null;
  exhausted_in_a_row: number;
  cancelled: number;
  host: string;
};

async function eventsOf(webhookId: string): Promise<Row[]> {
  const { rows } = await sql<Row>`
    select kind, reason, status_code, error, exhausted_in_a_row, cancelled, host
    from operational_events where webhook_id = ${webhookId} order by created_at, id
  `.execute(database);
  return rows;
}

test('a webhook starts failing with its first failed delivery and is deactivated later, each with one event', async () => {
  const id = await makeWebhook();
  await updateHealth({ webhookId: id });
  assert.deepEqual(await eventsOf(id), []);
  await updateHealth(exhausted(id, { statusCode: null, error: 'timeout' }));
  for (let more = 2; more <= 4; more += 1) await updateHealth(exhausted(id));
  await sql`
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at)
    select uuid_v7(), uuid_v7(), 'org.created', ${id}, 'event', now() from generate_series(1, 2)
  `.execute(database);
  // These two, and the one that was to be retried.
  assert.deepEqual(await updateHealth(exhausted(id, { statusCode: 503 })), [
    { webhookId: id, reason: 'failing', cancelled: 3, more: false },
  ]);
  // In flight while it was deactivated.
  await updateHealth(exhausted(id));
  const host = 'user-content.example:8443';
  assert.deepEqual(await eventsOf(id), [
    {
      kind: 'webhook.failing',
      reason: null,
      status_code: null,
      error: 'timeout',
      exhausted_in_a_row: 1,
      cancelled: 0,
      host,
    },
    {
      kind: 'webhook.deactivated',
      reason: 'failing',
      status_code: 503,
      error: null,
      exhausted_in_a_row: 5,
      cancelled: 3,
      host,
    },
  ]);
});

test('if one batch makes a webhook fail and deactivates it, only the deactivation is recorded', async () => {
  const [many, gone] = [await makeWebhook(), await makeWebhook()];
  await updateHealth(
    ...Array.from({ length: 7 }, () => exhausted(many)),
    exhausted(gone, { statusCode: 410 }),
  );
  const kinds = async (id: string) =>
    (await eventsOf(id)).map(({ kind, reason }) => [kind, reason]);
  assert.deepEqual(await kinds(many), [['webhook.deactivated', 'failing']]);
  assert.deepEqual(await kinds(gone), [['webhook.deactivated', 'gone']]);
});

test('after a success, a webhook can start failing again, also within one batch', async () => {
  const id = await makeWebhook();
  await updateHealth(exhausted(id));
  await updateHealth(success(id), exhausted(id));
  await updateHealth(exhausted(id));
  await updateHealth(exhausted(id), success(id));
  await updateHealth(exhausted(id));
  assert.deepEqual(
    (await eventsOf(id)).map(({ kind, exhausted_in_a_row: row }) => [kind, row]),
    [
      ['webhook.failing', 1],
      ['webhook.failing', 1],
      ['webhook.failing', 1],
    ],
  );
});

test('tests and interrupted attempts record no operational events', async () => {
  const id = await makeWebhook();
  const tested = await insertLeased(database, id, { trigger: 'test' });
  await recordAttempts(database, [attemptOf(tested, failed)]);
  await updateHealth(exhausted(id, { statusCode: null, error: 'interrupted' }));
  assert.deepEqual(await eventsOf(id), []);
});

test('an event is recorded only together with the health that it tells of', async (t) => {
  const id = await makeWebhook();
  await sql`alter table operational_events add constraint refused check (webhook_id <> ${sql.lit(id)})`.execute(
    database,
  );
  t.after(() => sql`alter table operational_events drop constraint refused`.execute(database));
  await updateHealth(exhausted(id));
  const { rows } = await sql<{ written: number; noted: number }>`
    select (select count(*) from webhook_health where webhook_id = ${id}) as written,
      (select count(*) from set_aside where webhook_id = ${id} and source = 'webhook_outcomes') as noted
  `.execute(database);
  assert.deepEqual(rows, [{ written: 0, noted: 1 }]);
});

test('a webhook that keeps failing and recovering keeps a hundred events, one of which waits for its mail', async () => {
  const id = await makeWebhook();
  for (let times = 0; times < 105; times += 1)
    await updateHealth(success(id), exhausted(id, { statusCode: 500 + times }));
  const rows = await eventsOf(id);
  assert.equal(rows.length, 100);
  assert.equal(rows[0]?.status_code, 505);
  assert.equal(rows[99]?.status_code, 604);
  const waiting = await sql<{ status_code: number; repeats: number }>`
    select status_code, repeats from operational_events
    where webhook_id = ${id} and next_mail_at is not null`.execute(database);
  assert.deepEqual(waiting.rows, [{ status_code: 604, repeats: 104 }]);
});

test('expired events are deleted in batches', async () => {
  const { database: other } = await openTestDatabase();
  const { appId: owner } = await makeKey({ database: other });
  await sql`insert into webhooks (id, app_id, url, secret)
    select uuid_v7(), ${owner}, 'https://a.example/', 'x'`.execute(other);
  await sql`
    insert into operational_events (app_id, webhook_id, kind, exhausted_in_a_row, host, created_at)
    select app_id, id, 'webhook.failing', 1, 'a.example', now() - age * interval '1 day'
    from webhooks, unnest(array[29, 31]) age, generate_series(1, 1100)`.execute(other);
  assert.equal(await dropOldOperationalEvents(other, 30), 1100);
  assert.equal(await dropOldOperationalEvents(other, 30), 0);
  const left = await sql<{ n: number }>`select count(*) as n from operational_events`.execute(
    other,
  );
  assert.equal(left.rows[0]?.n, 1100);
});

test('operational events are deleted with their webhook and app', async () => {
  const mine = await makeKey(opened);
  const count = () => countRows(database, sql`operational_events where app_id = ${mine.appId}`);
  for (const doomed of ['webhooks', 'apps'] as const) {
    const id = await makeWebhook();
    await sql`update webhooks set app_id = ${mine.appId} where id = ${id}`.execute(database);
    await updateHealth(exhausted(id));
    assert.equal(await count(), 1);
    if (doomed === 'webhooks') await sql`delete from webhooks where id = ${id}`.execute(database);
    else await sql`delete from apps where id = ${mine.appId}`.execute(database);
    assert.equal(await count(), 0);
  }
});

test('a failing receiver shows in the list of webhooks', async () => {
  const service = await startTestService({
    worker: true,
    env: {
      ...loopbackAllowed,
      WEBHOOK_RETRY_BASE_MS: '1',
      WEBHOOK_RETRY_FACTOR: '1',
      WEBHOOK_DEACTIVATE_AFTER: '2',
    },
  });
  const receiver = await startReceiver((response) => response.writeHead(500).end());
  const { body } = await service.call('/webhooks', {
    method: 'POST',
    json: { url: `${receiver.url}?token=hunter2` },
  });
  const idle = await service.call('/webhooks', {
    method: 'POST',
    json: { url: 'http://127.0.0.1:8081/hunter2', events: ['blueprint.sync.completed'] },
  });
  const { id } = body.data;
  const folder = await mkdtemp(join(tmpdir(), 'orgdir-webhooks-'));
  after(() => rm(folder, { recursive: true }));
  const env = { DATABASE_URL: toUrl(service.connection), DATA_DIR: folder };
  const list = async (...args: string[]) => {
    const result = await runHere(['webhooks', 'list', ...args], env);
    assert.equal(result.code, 0, result.stderr);
    assert.doesNotMatch(result.stdout, /hunter2|whsec_|token/);
    return result.stdout;
  };
  const told = (kind: string) =>
    eventually(async () => {
      const { rows } = await sql`
        select 1 from operational_events where webhook_id = ${id} and kind = ${kind}`.execute(
        service.database,
      );
      return rows.length > 0;
    });
  const announce = (slug: string) =>
    put(service.database, 'orgs', [{ slug, name: slug }], { emitEvents: true });
  await announce('acme');
  await told('webhook.failing');
  const [failing, other] = JSON.parse(await list('--json'));
  assert.equal(failing.state, 'failing');
  assert.equal(failing.exhaustedInARow, 1);
  assert.equal(failing.latestEvent.kind, 'webhook.failing');
  assert.equal(other.id, idle.body.data.id);
  assert.deepEqual([other.state, other.latestEvent, other.since], ['active', null, null]);
  await announce('globex');
  await told('webhook.deactivated');
  const [deactivated] = JSON.parse(await list('--json', '--app', service.appId));
  assert.deepEqual(
    [deactivated.state, deactivated.reason, deactivated.latestEvent.kind],
    ['deactivated', 'failing', 'webhook.deactivated'],
  );
  const lines = (await list()).split('\n');
  assert.match(lines[0] ?? '', /^ID +APP +HOST +HEALTH +GIVEN UP +LATEST EVENT$/);
  assert.match(
    lines[1] ?? '',
    /^\S+ +\S+ +127\.0\.0\.1:\d+ +deactivated \(too many deliveries failed\) since \S+ +2 +webhook\.deactivated \S+Z$/,
  );
  const { appId: none } = await makeKey(service);
  assert.deepEqual(JSON.parse(await list('--json', '--app', none)), []);
  const unknown = await runHere(['webhooks', 'list', '--app', 'nonsense'], env);
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /^There is no app with the id nonsense\.\n$/);
});

test('the list of webhooks is limited', async () => {
  const { appId: crowded } = await makeKey(opened);
  await sql`
    insert into webhooks (id, app_id, url, secret)
    select uuid_v7(), ${crowded}, 'https://example.org/', 'x' from generate_series(1, ${webhookStatesMax} + 1)
  `.execute(database);
  const { webhooks, total } = await listWebhookStates(database, { appId: crowded });
  assert.deepEqual([webhooks.length, total], [webhookStatesMax, webhookStatesMax + 1]);
  const last = await listWebhookStates(database, { appId: crowded, page: 2 });
  assert.equal(last.webhooks.length, 1);
  await sql`delete from apps where id = ${crowded}`.execute(database);
});
