/** Storms in the queue: many deliveries at once, many receivers that fall silent, and changes under many deliveries. */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { deleteApp } from '../service/src/access/apps.ts';
import { unbindApp } from '../service/src/access/bindings.ts';
import { loadConfig } from '../service/src/settings/config.ts';
import { sql, type Transaction } from '../service/src/database/database.ts';
import { publishEvent } from '../service/src/directory/publish-in-groups.ts';
import { recover } from '../service/src/webhooks/replay/replay.ts';
import { rotateSecret } from '../service/src/webhooks/management/rotate-secret.ts';
import { updateWebhook } from '../service/src/webhooks/management/update-webhook.ts';
import { replay, runReplay } from '../service/src/webhooks/replay/replay.ts';
import { commonEvent } from '../harness/publisher.ts';
import { loopbackAllowed } from '../harness/service.ts';
import { actor } from '../harness/subscribers.ts';
import { parkAll, storeEvents } from './fill-queue.ts';
import { isEmpty, until } from '../harness/world.ts';
import { requestsTo, sized, type Scene } from './scenario.ts';
import { storm, stormPath } from './storm.ts';

const { webhooks: guard } = loadConfig(loopbackAllowed);
const overlapSeconds = 3_600;
/** The most that one statement cancels or recovers: 10,000. */
const backlog = sized(3_000, 10_000);
/** Longer than fan-out takes for a backlog. */
const stepMaxMs = sized(30_000, 300_000);
/** The deadline of the service, and no retry during the storm. */
const usualDeadline = { WEBHOOK_TIMEOUT_MS: '10000', WEBHOOK_RETRY_BASE_MS: '1000' };

storm('redelivery of 10,000', { webhooks: 1, behaviour: 'hung' }, async (scene) => {
  const { database, receivers } = scene;
  const begun = await publishBacklog(scene);
  await change(scene, { active: false });
  await until('the cancellation', stepMaxMs, () => nothingPending(scene));
  await receivers.heal();
  await change(scene, { active: true });
  const { id, appId } = await stormWebhook(scene);
  const count = await database
    .transaction()
    .execute((tx) => recover(tx, actor, { appId, webhookId: id }, new Date(scene.openedAt), []));
  assert.equal(count, backlog);
  await until('the redelivery', stepMaxMs, () => nothingPending(scene));
  return begun;
});

storm(
  'webhooks that die at once',
  { webhooks: sized(300, 10_000), settings: usualDeadline },
  async (scene) => {
    for (let events = 0; events < 3; events += 1) await scene.publisher.publishOne(commonEvent);
    await until('their usual speed', stepMaxMs, () => nothingPending(scene));
    await scene.receivers.hang(stormPath);
    for (let events = 0; events < 5; events += 1) {
      await scene.publisher.publishOne(commonEvent);
      await wait(sized(1_000, 5_000));
    }
    await wait(sized(8_000, 60_000));
    await scene.receivers.heal();
  },
);

const parkedWebhooks = 100;
const orgSlug = 'storm';
const announcements = 200;
const publicUrl = 'http://directory.test';

storm(
  'a restart over parked deliveries',
  {
    webhooks: parkedWebhooks,
    settings: usualDeadline,
    async prepare(scene) {
      await scene.publisher.publishTogether(commonEvent, sized(10_000, 100_000) / parkedWebhooks);
      await storeEvents(scene.database);
      await parkAll(scene.database, stormPath);
      await scene.receivers.hang(stormPath);
    },
  },
  async (scene) => {
    for (const worker of scene.processes.slice()) {
      await scene.fault(() => worker.kill());
      await scene.startWorkers(1);
    }
    await wait(3_000);
    await scene.receivers.heal();
    await until('the parked deliveries', stepMaxMs, () => nothingPending(scene));
  },
);

storm('a replay next to new events', { webhooks: 1 }, async (scene) => {
  const { database, publisher } = scene;
  const missed = sized(200, 1_200);
  await change(scene, { active: false });
  await publisher.publishTogether(commonEvent, missed);
  await until('the events', stepMaxMs, () => isEmpty(database, sql`select from outbox`));
  await change(scene, { active: true });
  const { id, appId } = await stormWebhook(scene);
  const range = { since: new Date(scene.openedAt), until: new Date() };
  const publishing = publisher.publishSlowly(50, 50);
  const counts = await runReplay(database, appId, (tx, aside) =>
    replay(tx, actor, { appId, webhookId: id }, range, aside),
  );
  assert.equal(counts.missed, missed);
  await publishing;
  await until('the replay', stepMaxMs, () => nothingPending(scene));
});

storm(
  'an app deleted with 10,000 pending deliveries',
  { webhooks: 1, behaviour: 'hung', settings: usualDeadline },
  async (scene) => {
    const begun = await publishBacklog(scene);
    const { appId } = await stormWebhook(scene);
    await scene.database.transaction().execute((tx) => deleteApp(tx, actor, appId));
    const deletedAt = Date.now();
    await until('the cancellation', stepMaxMs, () => nothingPending(scene));
    await assertNoneBegin(scene, stormPath, deletedAt);
    return begun;
  },
);

storm(
  'URL, secret, listing and binding changed between lease and attempt',
  // Two apps of 20 webhooks, of which a few deliveries are leased and wait for their turn.
  { webhooks: 40, behaviour: 'slow' },
  async (scene) => {
    const { database, publisher, random } = scene;
    const publishing = publisher.publishSlowly(sized(50, 1_000), 100);
    for (let changes = 0; changes < sized(20, 300); changes += 1) {
      await scene.moment(200);
      const { id, appId, url } = await stormWebhook(scene, random.below(20));
      await transact(scene, async (tx) => {
        if (changes % 2 === 0) {
          // The receivers know the first secret, so only the first rotation may end it.
          await sql`update webhooks set secret = previous_secret where id = ${id} and previous_secret is not null`.execute(
            tx,
          );
          await rotateSecret(tx, actor, appId, id, overlapSeconds, scene.secretBox);
        } else
          await updateWebhook(
            tx,
            actor,
            appId,
            id,
            { url: `${url}&changed=${changes}` },
            guard,
            scene,
          );
      });
    }
    await changeListing(scene, await stormWebhook(scene, 39));
    const { appId } = await stormWebhook(scene, 39);
    await transact(scene, (tx) => unbindApp(tx, actor, appId));
    const unboundAt = Date.now();
    await publishing;
    const { rows } = await sql<{ path: string }>`
      select substring(url from '^https?://[^/]+([^?]+)') as path from webhooks where app_id = ${appId}
    `.execute(database);
    for (const { path } of rows) await assertNoneBegin(scene, path, unboundAt);
  },
);

storm('50,000 events in one transaction', { webhooks: 1 }, async (scene) => {
  await scene.publisher.publishTogether(commonEvent, sized(5_000, 50_000));
  await until('the events', stepMaxMs, () => nothingPending(scene));
});

/** Publishes for a webhook that has no room for it, and returns when all its deliveries are made. */
async function publishBacklog({ database, publisher }: Scene): Promise<number> {
  await publisher.publishTogether(commonEvent, backlog);
  await until('fan-out', stepMaxMs, () =>
    isEmpty(database, sql`select from outbox where name = ${commonEvent}`),
  );
  return Date.now();
}

async function nothingPending({ database }: Scene): Promise<boolean> {
  return isEmpty(
    database,
    sql`
      select from outbox where name = ${commonEvent}
      union all select from pending_deliveries where event = ${commonEvent}
    `,
  );
}

/** The webhook hears of an organisation that is unlisted while deliveries of it wait. */
async function changeListing(scene: Scene, { id, appId }: Webhook): Promise<void> {
  const { database, publisher } = scene;
  await transact(scene, async (tx) => {
    await updateWebhook(tx, actor, appId, id, { events: ['org.created'] }, guard, scene);
    await sql`insert into orgs (id, slug, name, name_sort, search_text, listed)
      values (uuid_v7(), ${orgSlug}, 'Storm', 'storm', 'storm', true)`.execute(tx);
  });
  const announcement = { name: 'org.created', org: orgSlug, alliance: null, data: null, publicUrl };
  for (let events = 0; events < announcements; events += 1)
    publisher.committed.add(await publishEvent(database, announcement));
  await until('the first announcement', stepMaxMs, async () =>
    (await requestsTo(scene, `${stormPath}/39`)).some(({ body }) => body.includes('org.created')),
  );
  await sql`update orgs set listed = false where slug = ${orgSlug}`.execute(database);
  const unlistedAt = Date.now();
  await until('the cancellations', stepMaxMs, () =>
    isEmpty(database, sql`select from pending_deliveries where event = 'org.created'`),
  );
  await assertNoneBegin(scene, `${stormPath}/39`, unlistedAt, 'org.created');
}

type Webhook = { id: string; appId: string; url: string };

async function stormWebhook({ database }: Scene, number = 0): Promise<Webhook> {
  const { rows } = await sql<Webhook>`
    select id, app_id as "appId", url from webhooks where url like '%' || ${`${stormPath}/${number}`}::text || '?%'
  `.execute(database);
  return rows[0] ?? assert.fail();
}

async function change(scene: Scene, changes: { active: boolean }): Promise<void> {
  const { id, appId } = await stormWebhook(scene);
  await transact(scene, (tx) => updateWebhook(tx, actor, appId, id, changes, guard, scene));
}

async function transact({ database }: Scene, act: (tx: Transaction) => Promise<unknown>) {
  await database.transaction().execute(act);
}

/** A leased delivery waits up to a second for its turn; the rest is for a busy machine. */
const turnMaxMs = 3_000;

async function assertNoneBegin(
  scene: Scene,
  path: string,
  since: number,
  event = '',
): Promise<void> {
  const late = (await requestsTo(scene, path)).filter(
    ({ at, body }) => at > since + turnMaxMs && body.includes(event),
  );
  assert.equal(late.length, 0, `${late.length} requests began after the change`);
}
