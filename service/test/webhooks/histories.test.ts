import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { sql } from '../../src/database/database.ts';
import { describeHistory, type History } from '../histories/commands.ts';
import { history, historyBesideWorker } from '../histories/generate.ts';
import { runHistory } from '../histories/run-history.ts';
import { runBesideWorker } from '../histories/run-beside-worker.ts';
import { openStage, type Stage } from '../histories/stage.ts';
import { loopbackAllowed, startReceiver } from '../support/receiver.ts';
import { startTestService } from '../support/service.ts';

/** Concurrent histories, each in its own database, so that one works while another waits. */
const histories = Number(process.env['HISTORIES'] ?? 100);
const lanes = 4;
/** A failure prints its seed; with the seed in the environment, the same histories run again. */
const firstSeed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 30));
/** Each fault below names the history of this seed that finds it; from there on, the test looks through many others. */
const brokenSeed = 4;
/** Shrinking stops then, and reports the shortest history so far. */
const shrinkMsMax = 30_000;

const stages = await Promise.all(Array.from({ length: lanes }, openStage));
/** One that may be broken: no test needs it afterwards. */
const takeStage = () => stages.pop() ?? openStage();

test('in any history, each webhook gets exactly the events that its app may have, once', async () => {
  await Promise.all(
    stages.map(async (stage, lane) => {
      const fault = await findFault(stage, firstSeed + lane, Math.ceil(histories / lanes));
      assert.ok(fault === null, fault ?? '');
    }),
  );
});

test('the same holds over sockets while the worker runs', async () => {
  const stage = await openStage({ ownClock: false });
  // Every third attempt fails, so that bytes are sent again.
  const receiver = await startReceiver((response, _, count) =>
    response.writeHead(count % 3 === 0 ? 500 : 200).end(),
  );
  const short = { WEBHOOK_RETRY_BASE_MS: '1', WEBHOOK_RETRY_FACTOR: '1' };
  await startTestService({ beside: stage, worker: true, env: { ...loopbackAllowed, ...short } });
  let arrived = 0;
  await fc.assert(
    fc.asyncProperty(historyBesideWorker, async (one) => {
      arrived += await runBesideWorker(stage, receiver, one);
    }),
    // No run repeats another, so a shorter history would say nothing.
    { numRuns: 25, endOnFailure: true },
  );
  assert.ok(arrived > 0, 'nothing was sent');
});

for (const { what, path, from, to } of [
  {
    what: 'a binding that opens what happened before it',
    path: '258',
    from: /and (bound_at|created_at) <= event_created/g,
    to: '',
  },
  {
    what: 'an organisation that is announced though nobody may see it',
    path: '60',
    from: /(coalesce\(org_listed, false\)|exists \(select from orgs where id = event_org and listed\))/,
    to: 'true',
  },
  {
    what: 'a rule that allows everything',
    path: '5',
    from: /select case audience/,
    to: "select case 'webhook'",
  },
  {
    what: 'a rule that allows nothing',
    path: '1',
    from: /select case audience/,
    to: "select case ''",
  },
  {
    what: 'a filter that lets everything pass',
    path: '43',
    from: /select filter_path is null/,
    to: 'select true',
  },
])
  test(`the model catches ${what}`, async () => {
    const stage = await takeStage();
    await stage.changeRule(from, to);
    const fault = await findFault(stage, brokenSeed, 1_000, path);
    assert.match(
      fault ?? 'nothing was found',
      /leak|\/events gives|deliveries: the service has|the body reads|the explanation of|were leased at fan-out|by a fan-out that did not create it|it was done and must be refused/,
    );
  });

for (const { what, path, table, change, seen } of [
  {
    what: 'probes that come too early',
    path: '10',
    table: 'pending_deliveries',
    change: `if new.trigger = 'probe' then new.due_at = new.due_at - interval '1 minute'; end if;`,
    seen: /"probeAt"/,
  },
  {
    what: 'a webhook that probes activate too often',
    path: '159',
    table: 'webhook_healing',
    change: `new.healed_at = '{}';`,
    seen: /"probeAt"|flaps/,
  },
  {
    what: 'a replay that does not follow an activation by probes',
    path: '10',
    table: 'webhook_healing',
    change: 'new.replay_since = null;',
    seen: /deliveries: the service has/,
  },
])
  test(`the model catches ${what}`, async () => {
    const stage = await takeStage();
    await sql
      .raw(
        `create function orgdir.break_it() returns trigger language plpgsql as $$ begin ${change} return new; end $$;
        create trigger break_it before insert or update on orgdir.${table} for each row execute function orgdir.break_it()`,
      )
      .execute(stage.database);
    assert.match((await findFault(stage, brokenSeed, 1_000, path)) ?? 'nothing was found', seen);
  });

/** Runs histories until one fails, and reports it with its seed; without a path to begin at, as short as possible. */
async function findFault(
  stage: Stage,
  seed: number,
  numRuns: number,
  path?: string,
): Promise<string | null> {
  let failedAt: number | null = null;
  const property = fc.asyncProperty(history, async (one: History) => {
    // After this time, shrinking stops with the shortest history so far.
    if (failedAt !== null && performance.now() - failedAt > shrinkMsMax) return;
    try {
      await runHistory(stage, one);
    } catch (error) {
      failedAt ??= performance.now();
      throw error;
    }
  });
  const result = await fc.check(property, {
    seed,
    numRuns,
    ...(path !== undefined && { path, endOnFailure: true }),
  });
  if (!result.failed) return null;
  const [shortest] = result.counterexample ?? [];
  return [
    `seed ${seed}, path ${result.counterexamplePath}:`,
    shortest ? describeHistory(shortest) : '',
    '',
    (result.errorInstance as Error).message,
  ].join('\n');
}
