/** Storms in the queue: many deliveries at once, many receivers that fall silent, and changes under many deliveries. */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { deleteApp } from '../service/src/access/apps.ts';
import { unbindApp } from '../service/src/access/bindings.ts';
import { loadConfig } from '../service/src/settings/config.ts';
import { sql, type Transaction } from '../service/src/database/database.ts';
import { publishEvent } from '../service/src/directory/publish-in-groups.ts';
import { createSecretBox } from '../service/src/runtime/secret-box.ts';
import { recover } from '../service/src/webhooks/management/recover.ts';
import { rotateSecret } from '../service/src/webhooks/management/rotate-secret.ts';
import { updateWebhook } from '../service/src/webhooks/management/update-webhook.ts';
import { replay, runReplay } from '../service/src/webhooks/queue/replay/replay.ts';
import { commonEvent } from './behaviours.ts';
import { loopbackAllowed } from './create-webhooks.ts';
import { parkAll, storeEvents } from './fill-queue.ts';
import { isEmpty, requestsTo, until } from './observe.ts';
import { sized } from './sized.ts';
import { storm, stormPath } from './storm.ts';
import type { World } from './world.ts';

const actor = { kind: 'system', id: null, name: 'faults' } as const;
const { webhooks: guard } = loadConfig(loopbackAllowed);
const overlapSeconds = 3_600;
/** The most that one statement cancels or recovers: 10,000. */
const backlog = sized(3_000, 10_000);
/** Longer than fan-out takes for a backlog. */
const stepMaxMs = sized(30_000, 300_000);
/** The deadline of the service, and no retry during the storm. */
const usualDeadline = { WEBHOOK_TIMEOUT_MS: '10000', WEBHOOK_RETRY_BASE_MS: '1000' };

storm('redelivery of 10,000', { webhooks: 1, behaviour: 'hung' }, async (world) => {
  const { database, receivers } = world;
  const begun = await publishBacklog(world);
  await change(world, { active: false });
  await until('the cancellation', stepMaxMs, () => nothingPending(world));
  receivers.heal();
  await change(world, { active: true });
  const { id, appId } = await stormWebhook(world);
  const count = await database
    .transaction()
    .execute((tx) => recover(tx, actor, appId, id, new Date(world.openedAt)));
  assert.equal(count, backlog);
  await until('the redelivery', stepMaxMs, () => nothingPending(world));
  return begun;
});

storm(
  'webhooks that die at once',
  { webhooks: sized(300, 10_000), settings: usualDeadline },
  async (world) => {
    for (let events = 0; events < 3; events += 1) await world.publisher.publishOne(commonEvent);
    await until('their usual speed', stepMaxMs, () => nothingPending(world));
    world.receivers.hang(stormPath);
    for (let events = 0; events < 5; events += 1) {
      await world.publisher.publishOne(commonEvent);
      await wait(sized(1_000, 5_000));
    }
    await wait(sized(8_000, 60_000));
    world.receivers.heal();
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
    async prepare(world) {
      await world.publisher.publishTogether(commonEvent, sized(10_000, 100_000) / parkedWebhooks);
      await storeEvents(world.database);
      await parkAll(world.database, stormPath);
      world.receivers.hang(stormPath);
    },
  },
  async (world) => {
    for (const worker of world.workers.slice()) {
      await world.fault(() => worker.kill());
      await world.startWorker().started;
    }
    await wait(3_000);
    world.receivers.heal();
    await until('the parked deliveries', stepMaxMs, () => nothingPending(world));
  },
);

storm('a replay next to new events', { webhooks: 1 }, async (world) => {
  const { database, publisher } = world;
  const missed = sized(200, 1_200);
  await change(world, { active: false });
  await publisher.publishTogether(commonEvent, missed);
  await until('the events', stepMaxMs, () => isEmpty(database, sql`select from outbox`));
  await change(world, { active: true });
  const { id, appId } = await stormWebhook(world);
  const range = { since: new Date(world.openedAt), until: new Date() };
  const publishing = publisher.publishSlowly(50, 50);
  const counts = await runReplay(database, appId, (tx, aside) =>
    replay(tx, actor, { appId, webhookId: id }, range, aside),
  );
  assert.equal(counts.missed, missed);
  await publishing;
  await until('the replay', stepMaxMs, () => nothingPending(world));
});

storm(
  'an app deleted with 10,000 pending deliveries',
  { webhooks: 1, behaviour: 'hung', settings: usualDeadline },
  async (world) => {
    const begun = await publishBacklog(world);
    const { appId } = await stormWebhook(world);
    await world.database.transaction().execute((tx) => deleteApp(tx, actor, appId));
    const deletedAt = Date.now();
    await until('the cancellation', stepMaxMs, () => nothingPending(world));
    await assertNoneBegin(world, stormPath, deletedAt);
    return begun;
  },
);

storm(
  'URL, secret, listing and binding changed between lease and attempt',
  // Two apps of 20 webhooks, of which a few deliveries are leased and wait for their turn.
  { webhooks: 40, behaviour: 'slow' },
  async (world) => {
    const { database, publisher, random } = world;
    const publishing = publisher.publishSlowly(sized(50, 1_000), 100);
    for (let changes = 0; changes < sized(20, 300); changes += 1) {
      await world.moment(200);
      const { id, appId, url } = await stormWebhook(world, random.below(20));
      await transact(world, async (tx) => {
        if (changes % 2 === 0) {
          const secretBox = createSecretBox([Buffer.from(world.secretKey, 'base64')]);
          // The receivers know the first secret, so only the first rotation may end it.
          await sql`update webhooks set secret = previous_secret where id = ${id} and previous_secret is not null`.execute(
            tx,
          );
          await rotateSecret(tx, actor, appId, id, overlapSeconds, secretBox);
        } else
          await updateWebhook(tx, actor, appId, id, { url: `${url}&changed=${changes}` }, guard);
      });
    }
    await changeListing(world, await stormWebhook(world, 39));
    const { appId } = await stormWebhook(world, 39);
    await transact(world, (tx) => unbindApp(tx, actor, appId));
    const unboundAt = Date.now();
    await publishing;
    const { rows } = await sql<{ path: string }>`
      select substring(url from '^https?://[^/]+([^?]+)') as path from webhooks where app_id = ${appId}
    `.execute(database);
    for (const { path } of rows) await assertNoneBegin(world, path, unboundAt);
  },
);

storm('50,000 events in one transaction', { webhooks: 1 }, async (world) => {
  await world.publisher.publishTogether(commonEvent, sized(5_000, 50_000));
  await until('the events', stepMaxMs, () => nothingPending(world));
});

/** Publishes for a webhook that has no room for it, and returns when all its deliveries are made. */
async function publishBacklog({ database, publisher }: World): Promise<number> {
  await publisher.publishTogether(commonEvent, backlog);
  await until('fan-out', stepMaxMs, () =>
    isEmpty(database, sql`select from outbox where name = ${commonEvent}`),
  );
  return Date.now();
}

async function nothingPending({ database }: World): Promise<boolean> {
  return isEmpty(
    database,
    sql`
      select from outbox where name = ${commonEvent}
      union all select from pending_deliveries where event = ${commonEvent}
    `,
  );
}

/** The webhook hears of an organisation that is unlisted while deliveries of it wait. */
async function changeListing(world: World, { id, appId }: Webhook): Promise<void> {
  const { database, publisher } = world;
  await transact(world, async (tx) => {
    await updateWebhook(tx, actor, appId, id, { events: ['org.created'] }, guard);
    await sql`insert into orgs (id, slug, name, name_sort, search_text, listed)
      values (uuid_v7(), ${orgSlug}, 'Storm', 'storm', 'storm', true)`.execute(tx);
  });
  const announcement = { name: 'org.created', org: orgSlug, alliance: null, data: null, publicUrl };
  for (let events = 0; events < announcements; events += 1)
    publisher.committed.add(await publishEvent(database, announcement));
  await until('the first announcement', stepMaxMs, async () =>
    (await requestsTo(world, `${stormPath}/39`)).some(({ body }) => body.includes('org.created')),
  );
  await sql`update orgs set listed = false where slug = ${orgSlug}`.execute(database);
  const unlistedAt = Date.now();
  await until('the cancellations', stepMaxMs, () =>
    isEmpty(database, sql`select from pending_deliveries where event = 'org.created'`),
  );
  await assertNoneBegin(world, `${stormPath}/39`, unlistedAt, 'org.created');
}

type Webhook = { id: string; appId: string; url: string };

async function stormWebhook({ database }: World, number = 0): Promise<Webhook> {
  const { rows } = await sql<Webhook>`
    select id, app_id as "appId", url from webhooks where url like '%' || ${`${stormPath}/${number}`}::text || '?%'
  `.execute(database);
  const [webhook] = rows;
  assert.ok(webhook);
  return webhook;
}

async function change(world: World, changes: { active: boolean }): Promise<void> {
  const { id, appId } = await stormWebhook(world);
  await transact(world, (tx) => updateWebhook(tx, actor, appId, id, changes, guard));
}

async function transact({ database }: World, act: (tx: Transaction) => Promise<unknown>) {
  await database.transaction().execute(act);
}

/** A leased delivery waits up to a second for its turn; the rest is for a busy machine. */
const turnMaxMs = 3_000;

async function assertNoneBegin(
  world: World,
  path: string,
  since: number,
  event = '',
): Promise<void> {
  const late = (await requestsTo(world, path)).filter(
    ({ at, body }) => at > since + turnMaxMs && body.includes(event),
  );
  assert.equal(late.length, 0, `${late.length} requests began after the change`);
}
