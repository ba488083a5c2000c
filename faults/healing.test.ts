/** Workers that are killed while they probe a webhook and replay what it missed. */
import assert from 'node:assert/strict';
import { loadConfig } from '../service/src/settings/config.ts';
import { sql, type Database } from '../service/src/database/database.ts';
import { updateWebhook } from '../service/src/webhooks/management/update-webhook.ts';
import { firstProbeJitter } from '../service/src/webhooks/queue/health/healing.ts';
import { queueChannel } from '../service/src/events/queue-channel.ts';
import { replay } from '../service/src/webhooks/replay/replay.ts';
import { commonEvent } from '../harness/publisher.ts';
import { loopbackAllowed } from '../harness/service.ts';
import { actor } from '../harness/subscribers.ts';
import { until } from '../harness/world.ts';
import { endWell, smallScenario, type Scene } from './scenario.ts';

const healsPerWeekMax = 3;
/** Probes have activated the webhook once before, yesterday. */
const rounds = healsPerWeekMax - 1;
const weekMs = 7 * 24 * 3_600_000;
/** docs/reference/deliveries.md#self-healing: the first probe, and the one after a success or an interruption. */
const firstProbeMs = 3_600_000 * (1 + firstProbeJitter);
const confirmMs = 5 * 60_000;
const eventsPerRound = 20;
/** Long enough for a busy machine. */
const stepMaxMs = 30_000;

smallScenario(
  'kill -9 during probes and replays',
  {
    kinds: [{ behaviour: 'probes', webhooks: 1, event: commonEvent }],
    settings: {
      WEBHOOK_TIMEOUT_MS: '1500',
      WEBHOOK_LEASE_MARGIN_MS: '1500',
      WEBHOOK_RETRY_BASE_MS: '10',
      WEBHOOK_DEACTIVATE_AFTER: '5',
    },
  },
  async (scene) => {
    const { database, receivers, publisher } = scene;
    await sql`update webhooks set replay_after_healing = true`.execute(database);
    await sql`
      insert into webhook_healing (webhook_id, healed_at) select id, array[now() - interval '1 day'] from webhooks
    `.execute(database);
    let worker = scene.startWorker();
    const kill = async () => {
      await scene.fault(() => worker.kill());
      worker = scene.startWorker();
    };
    await publisher.publish(eventsPerRound);
    for (let heals = 1; heals <= rounds; heals += 1) {
      await deactivated(scene);
      await publisher.publish(eventsPerRound);
      await scene.drained();
      const probe = receivers.more(1);
      assertWithin([await nextProbe(database)], firstProbeMs);
      await probe;
      await kill();
      // However far the killed probe came, the next one follows as after a success.
      assertWithin(await probeUntilActive(database, heals), confirmMs);
      // The automatic replay may be about to begin, or running.
      await scene.moment(200);
      await kill();
    }
    await deactivated(scene);
    await assertWaitsForAWeek(database);

    await receivers.heal();
    assert.equal(await activateAndReplay(scene), eventsPerRound * (1 + rounds));
    await receivers.more(10);
    await kill();
    await endWell('killed during probes and replays', scene);
  },
);

/** Resolves when the webhook is inactive and nothing but a probe waits. */
async function deactivated(scene: Scene): Promise<void> {
  await until('deactivation', stepMaxMs, async () => !(await readWebhook(scene.database)).active);
  await scene.drained();
}

async function readWebhook(database: Database) {
  const { rows } = await sql<{ id: string; appId: string; active: boolean; heals: number }>`
    select id, app_id as "appId", active,
      (select count(*) from audit_log where action = 'webhook.reactivated' and subject_id = webhooks.id::text) as heals
    from webhooks
  `.execute(database);
  const [webhook] = rows;
  assert.ok(webhook);
  return webhook;
}

async function nextProbe(database: Database): Promise<number> {
  let waitMs: number | null = null;
  await until('a probe', stepMaxMs, async () => (waitMs = await bringProbe(database)) !== null);
  return waitMs ?? 0;
}

/** Returns how long each probe would have waited. */
async function probeUntilActive(database: Database, heals: number): Promise<number[]> {
  const waits: number[] = [];
  await until('activation', stepMaxMs, async () => {
    const waitMs = await bringProbe(database);
    if (waitMs !== null) waits.push(waitMs);
    return (await readWebhook(database)).heals === heals;
  });
  return waits;
}

/** Makes the probe that waits due now, and returns how long it would have waited; null if none waits. */
async function bringProbe(database: Database): Promise<number | null> {
  const { rows } = await sql<{ waitMs: number }>`
    with waiting as materialized (
      select id, due_at from pending_deliveries where trigger = 'probe' and lease_token is null and due_at > queue_now()
    ),
    brought as (
      update pending_deliveries set due_at = queue_now()
      where id = any(array(select id from waiting)) and lease_token is null
    )
    select extract(epoch from due_at - queue_now())::float8 * 1000 as "waitMs", pg_notify(${queueChannel}, '') from waiting
  `.execute(database);
  assert.ok(rows.length <= 1, 'two probes wait');
  return rows[0]?.waitMs ?? null;
}

function assertWithin(waits: number[], mostMs: number): void {
  for (const waitMs of waits)
    assert.ok(waitMs > mostMs / 2 && waitMs <= mostMs, `a probe waits for ${waitMs} ms`);
}

/** After three activations in a week, the first probe waits until a week after the first of them. */
async function assertWaitsForAWeek(database: Database): Promise<void> {
  const { rows } = await sql<{ afterMs: number; heals: number }>`
    select extract(epoch from due_at - healed_at[1])::float8 * 1000 as "afterMs", cardinality(healed_at) as heals
    from webhook_healing join pending_deliveries using (webhook_id) where trigger = 'probe'
  `.execute(database);
  assert.deepEqual(rows, [{ afterMs: weekMs, heals: healsPerWeekMax }]);
}

/** As the owner does it. Returns how many events are replayed. */
async function activateAndReplay(scene: Scene): Promise<number> {
  const { database, openedAt } = scene;
  const { id, appId } = await readWebhook(database);
  const range = { since: new Date(openedAt), until: new Date() };
  return database.transaction().execute(async (tx) => {
    const { webhooks } = loadConfig(loopbackAllowed);
    await updateWebhook(tx, actor, appId, id, { active: true }, webhooks, scene);
    const counts = await replay(tx, actor, { appId, webhookId: id }, range, []);
    return counts.failed + counts.cancelled + counts.missed;
  });
}
