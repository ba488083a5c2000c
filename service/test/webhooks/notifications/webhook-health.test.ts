/** Tests that every state of health is the same in the API, the portal's overview and `orgdir webhooks list`, and its numbers. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, test } from 'node:test';
import { webhookHealths } from '../../../src/contract/webhook.ts';
import { sql } from '../../../src/database/database.ts';
import { listMemberWebhooks } from '../../../src/webhooks/management/webhooks.ts';
import { readOverview } from '../../../src/webhooks/management/overview.ts';
import { suspendWebhooks } from '../../../src/webhooks/management/suspend-webhooks.ts';
import { updateWebhookHealth } from '../../../src/webhooks/queue/health/update-webhook-health.ts';
import { testActor } from '../../support/actor.ts';
import { toUrl } from '../../support/database.ts';
import { signUp } from '../../support/portal.ts';
import { failed, insertLeased, recordNew, succeeded } from '../../support/queue-steps.ts';
import { runHere } from '../../support/run-here.ts';
import { makeKey, startTestService } from '../../support/service.ts';

// No worker: each test says which attempts are recorded.
const service = await startTestService();
const { database } = service;
const folder = await mkdtemp(join(tmpdir(), 'orgdir-health-'));
after(() => rm(folder, { recursive: true }));
const ada = await signUp(service, 'ada@example.org');
const { rows: users } = await sql<{ id: string }>`
  select id from users where email = ${ada.email}
`.execute(database);
const userId = users[0]?.id ?? '';
const deactivateAfter = 5;
let webhooksMade = 0;

type App = { appId: string; key: string };

// Nobody may own more than ten.
afterEach(() => sql`delete from apps where id <> ${service.appId}`.execute(database));

const makeApp = (): Promise<App> => makeKey(service, { owner: ada.email });

async function makeWebhook({ key }: App): Promise<{ id: string; health: string }> {
  webhooksMade += 1;
  const json = { url: `https://example.org/${webhooksMade}` };
  return (await service.call('/webhooks', { method: 'POST', key, json })).body.data;
}

type Outcome = Parameters<typeof recordNew>[1];
type Step = (webhookId: string, key: string) => Promise<unknown>;

/** Records these attempts, each in a batch of its own, and adds them to the health. */
const attempts =
  (...outcomes: Omit<Outcome, 'webhookId'>[]): Step =>
  async (webhookId) => {
    for (const outcome of outcomes) {
      await recordNew(database, { ...outcome, webhookId });
      await updateWebhookHealth(database, deactivateAfter);
    }
  };
const retry = {};
const ofKind = (trigger: 'test' | 'probe', verdict: object) =>
  ({ ...verdict, delivery: { trigger, event: `webhook.${trigger}` } }) as unknown as typeof retry;
const patch =
  (json: object): Step =>
  (id, key) =>
    service.call(`/webhooks/${id}`, { method: 'PATCH', key, json });
const suspendOne: Step = (id) =>
  database
    .transaction()
    .execute((tx) =>
      suspendWebhooks(tx, testActor, { kind: 'webhook', id }, 'Too many complaints.'),
    );

const cases: [name: string, expected: (typeof webhookHealths)[number], ...steps: Step[]][] = [
  ['without an attempt', 'new'],
  [
    'after a test and a failed test',
    'new',
    attempts(ofKind('test', succeeded), ofKind('test', failed)),
  ],
  ['after an interrupted attempt', 'new', attempts({ statusCode: null, error: 'interrupted' })],
  ['after a success', 'healthy', attempts(succeeded)],
  ['after a failure and a success', 'healthy', attempts(retry, succeeded)],
  ['after a given-up delivery and a success', 'healthy', attempts(failed, succeeded)],
  ['whose first attempt failed', 'retrying', attempts(retry)],
  ['whose last attempt failed', 'retrying', attempts(succeeded, retry)],
  ['whose failed attempt a test follows', 'retrying', attempts(retry, ofKind('test', succeeded))],
  ['that gave a delivery up', 'failing', attempts(failed)],
  ['that gave one up since the last success', 'failing', attempts(succeeded, failed, retry)],
  ['activated after it gave one up', 'retrying', attempts(failed), patch({ active: true })],
  [
    'that gave up too many',
    'deactivated',
    attempts(...Array.from({ length: deactivateAfter }, () => failed)),
  ],
  [
    'whose probe succeeded',
    'deactivated',
    attempts({ ...failed, statusCode: 410 }, ofKind('probe', succeeded)),
  ],
  ['deactivated by its owner', 'deactivated', attempts(succeeded), patch({ active: false })],
  ['suspended while healthy', 'suspended', attempts(succeeded), suspendOne],
  ['suspended after its deactivation', 'suspended', patch({ active: false }), suspendOne],
];

test('the cases have every state', () => {
  assert.deepEqual(new Set(cases.map(([, expected]) => expected)), new Set(webhookHealths));
});

test('a webhook has the health of its case everywhere', async () => {
  const { appId, key } = await makeApp();
  const made: { name: string; id: string; expected: string }[] = [];
  for (const [name, expected, ...steps] of cases) {
    const { id, health } = await makeWebhook({ appId, key });
    assert.equal(health, 'new');
    for (const step of steps) await step(id, key);
    made.push({ name, id, expected });
  }
  type Read = { id: string; health: string };
  const listed: Read[] = (await service.call('/webhooks?limit=100', { key })).body.data;
  const ofMember = await listMemberWebhooks(database, userId, null, 1_000);
  const { webhooks: attention } = (await ada.call('/overview')).body.data;
  const commands = new Map<string, string[]>();
  for (const health of webhookHealths)
    commands.set(
      health,
      (await run('--app', appId, '--health', health)).map(({ id }) => id),
    );
  for (const { name, id, expected } of made)
    assert.deepEqual(
      {
        read: (await service.call(`/webhooks/${id}`, { key })).body.data.health,
        list: listed.find((each) => each.id === id)?.health,
        export: ofMember.find(({ webhook }) => webhook.id === id)?.webhook.health,
        portal: (await ada.call(`/apps/${appId}/webhooks/${id}`)).body.data.health,
        attention: attention.find((each: { webhookId: string }) => each.webhookId === id)?.health,
        command: webhookHealths.filter((health) => commands.get(health)?.includes(id)),
      },
      {
        read: expected,
        list: expected,
        export: expected,
        portal: expected,
        attention: ['new', 'healthy'].includes(expected) ? undefined : expected,
        command: [expected],
      },
      name,
    );
});

async function run(...words: string[]): Promise<{ id: string; health: string }[]> {
  const env = { DATABASE_URL: toUrl(service.connection), DATA_DIR: folder };
  const { code, stdout, stderr } = await runHere(['webhooks', 'list', '--json', ...words], env);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

test('`webhooks list` refuses a word that is no health', async () => {
  const refused = await runHere(['webhooks', 'list', '--health', 'ill'], { DATA_DIR: folder });
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /suspended, deactivated, failing, retrying, new, healthy/);
});

/** The entries of one app, in the order of the overview. */
async function attentionOf(appId: string) {
  const { webhooks } = await readOverview(database, ada.email);
  return webhooks.filter((each) => each.appId === appId);
}

test('the overview begins with the worst, and ends with what its owner deactivated', async () => {
  const app = await makeApp();
  const made: string[] = [];
  for (const steps of [
    [patch({ active: false })],
    [attempts(retry)],
    [attempts(failed)],
    [attempts(...Array.from({ length: deactivateAfter }, () => failed))],
    [suspendOne],
  ]) {
    const { id } = await makeWebhook(app);
    for (const step of steps) await step(id, app.key);
    made.unshift(id);
  }
  assert.deepEqual(
    (await attentionOf(app.appId)).map(({ webhookId }) => webhookId),
    made,
  );
});

test('the overview counts as many undelivered deliveries as its link lists', async () => {
  const app = await makeApp();
  const { id } = await makeWebhook(app);
  await attempts(succeeded, failed, failed, ofKind('test', failed))(id, app.key);
  // One that waits for its retry, and one whose event the app may no longer receive.
  await attempts(retry, { verdict: { kind: 'cancelled', by: 'permission' } })(id, app.key);
  await attempts(failed, failed, failed)(id, app.key);
  const [entry] = await attentionOf(app.appId);
  assert.equal(entry?.health, 'deactivated');
  const { unsentSince } = entry;
  assert.equal(entry.unsent, 7, 'five failed, one was cancelled with the webhook, and one before');
  const query = `status=undelivered&since=${unsentSince}&limit=5`;
  const ofKey = await service.call(`/webhooks/${id}/deliveries?${query}`, { key: app.key });
  assert.equal(ofKey.body.pagination.total, entry.unsent);
  assert.deepEqual(
    new Set(ofKey.body.data.map(({ status }: { status: string }) => status)),
    new Set(['failed', 'cancelled']),
  );
  const ofPortal = await ada.call(`/apps/${app.appId}/deliveries?webhookId=${id}&${query}`);
  assert.equal(ofPortal.body.pagination.total, entry.unsent);
});

test('the overview has the last error of a delivery that is still retried', async () => {
  const app = await makeApp();
  const { id } = await makeWebhook(app);
  const expired = { statusCode: null, error: 'tls', errorCause: 'certificate_expired' } as const;
  await attempts(retry, { ...retry, ...expired })(id, app.key);
  // The attempt before the redelivery succeeded, and the next one has not ended.
  await insertLeased(database, id, { trigger: 'redelivery', number: 2 });
  const [entry] = await attentionOf(app.appId);
  assert.deepEqual(
    [entry?.health, entry?.state, entry?.lastError?.error, entry?.unsent, entry?.unsentSince],
    ['retrying', 'failing', 'tls', 0, null],
  );
  assert.equal(entry?.lastError?.errorCause, 'certificate_expired');
  assert.equal(entry?.lastSuccessAt, null);
});

test('what failed before the last success is not counted', async () => {
  const app = await makeApp();
  const { id } = await makeWebhook(app);
  await attempts(failed)(id, app.key);
  await sql`
    update deliveries set completed_at = completed_at - interval '2 minutes' where webhook_id = ${id}
  `.execute(database);
  await attempts(succeeded, retry)(id, app.key);
  const [entry] = await attentionOf(app.appId);
  assert.deepEqual([entry?.health, entry?.unsent, entry?.failingSince], ['retrying', 0, null]);
});

test('what failed right after a success is counted, although the success is dated later', async () => {
  const app = await makeApp();
  const { id } = await makeWebhook(app);
  await recordNew(database, { ...succeeded, webhookId: id }, { ...failed, webhookId: id });
  await updateWebhookHealth(database, deactivateAfter);
  const [entry] = await attentionOf(app.appId);
  assert.deepEqual([entry?.health, entry?.unsent], ['failing', 1]);
  assert.ok(entry?.failingSince);
});

test('a webhook deactivated by its owner counts what that cancelled, and shows no error', async () => {
  const app = await makeApp();
  const { id } = await makeWebhook(app);
  await attempts(failed, retry)(id, app.key);
  await patch({ active: false })(id, app.key);
  const [entry] = await attentionOf(app.appId);
  assert.deepEqual([entry?.lastError, entry?.failingSince], [null, null]);
  assert.ok(entry?.unsentSince, 'since the hour of the one that was cancelled');
});
