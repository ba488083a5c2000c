import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { sql } from '../../src/database/database.ts';
import { type ChatProvider, createDiscord, createRateLimit } from '../../src/sync/chat-provider.ts';
import { listRuns } from '../../src/sync/runs.ts';
import { syncChat, type ChatSyncRequest } from '../../src/sync/sync-chat.ts';
import { openTestDatabase } from '../support/database.ts';
import { put } from '../support/directory.ts';
import { send, sendGuild, startDiscord, type Guild } from '../support/discord-server.ts';
import { eventually } from '../support/eventually.ts';
import { eventsOf, isWaiting, revisionOf, runOf, stateOf } from '../support/syncs.ts';

const opened = await openTestDatabase();
const { database, connection } = opened;

beforeEach(async () => {
  await sql`truncate orgs, alliances, outbox, sync_runs cascade`.execute(database);
  await sql`update list_totals set entries = 0`.execute(database);
});

/** A Discord that has these guilds, and organisations that chat there. */
async function stage(guilds: Record<string, Guild>, orgs: object[] = []) {
  const discord = await startDiscord();
  discord.guilds = new Map(Object.entries(guilds));
  await put(database, 'orgs', orgs);
  return discord;
}

type Discord = Awaited<ReturnType<typeof startDiscord>>;
type RunOptions = Partial<ChatSyncRequest> & { token?: string; timeoutMs?: number };

async function run({ baseUrl, token }: Discord, options: RunOptions = {}) {
  const provider: ChatProvider = createDiscord({
    baseUrl,
    token: options.token ?? token,
    userAgent: 'DiscordBot (http://directory.localhost, 0)',
    timeoutMs: options.timeoutMs ?? 5_000,
  });
  try {
    const signal = new AbortController().signal;
    return await syncChat(connection, { provider, trigger: 'cli', signal, ...options });
  } finally {
    await provider.close();
  }
}

const org = (slug: string, chatServerId: string | null, memberCount = 1, more = {}) => ({
  slug,
  name: `Name of ${slug}`,
  chatServerId,
  memberCount,
  ...more,
});
const membersOf = async () =>
  Object.fromEntries(
    (await stateOf(database, 'orgs')).map((row) => [row['slug'], row['member_count']]),
  ) as Record<string, number>;

test('each organisation with a chat server gets its count, and unchanged ones are not written', async () => {
  const discord = await stage({ '11': 50, '22': 7, '33': 900 }, [
    org('grown', '11', 40),
    org('same', '22', 7),
    org('hidden', '33', 1, { listed: false }),
    org('silent', null, 3),
  ]);
  const before = await stateOf(database, 'orgs');
  const outcome = await run(discord);
  assert.equal(outcome.kind, 'succeeded');
  assert.deepEqual(await membersOf(), { grown: 50, same: 7, hidden: 900, silent: 3 });
  const after = await stateOf(database, 'orgs');
  const written = after.filter(
    (row, index) => row['version_of_row'] !== before[index]?.['version_of_row'],
  );
  assert.deepEqual(written.map((row) => row['slug']).sort(), ['grown', 'hidden']);
  const updatedAt = (rows: typeof after, slug: string) =>
    JSON.stringify(rows.find((row) => row['slug'] === slug)?.['updated_at']);
  assert.notEqual(updatedAt(after, 'grown'), updatedAt(before, 'grown'));
  assert.deepEqual(discord.asked.toSorted(), ['11', '22', '33']);
});

test('the event has only sums of listed organisations, without names', async () => {
  const discord = await stage({ '11': 50, '22': 7, '33': 900 }, [
    org('grown', '11', 40),
    org('same', '22', 7),
    org('lost', '404', 5),
    org('hidden', '33', 1, { listed: false }),
    org('hidden-too', '404', 1, { listed: false }),
  ]);
  const done = runOf(await run(discord));
  const [event] = await eventsOf(database, 'chat.sync.completed');
  assert.deepEqual(event, {
    runId: done.id,
    source: 'discord',
    startedAt: done.startedAt,
    finishedAt: done.finishedAt,
    durationMs: done.durationMs,
    counts: { orgs: 3, updated: 1, unchanged: 1, failed: 1, members: 62 },
    version: null,
  });
  assert.deepEqual(done.counts, event.counts);
  // Operators are told which, and why.
  assert.deepEqual(
    done.problems.toSorted((a, b) => a.subject.localeCompare(b.subject)),
    ['hidden-too', 'lost'].map((subject) => ({
      subject,
      reason: 'Discord knows no such server (404)',
    })),
  );
});

test("a run without changes does not move the directory's revision", async () => {
  const discord = await stage({ '11': 4 }, [org('a', '11', 4), org('b', '11', 4)]);
  const before = await revisionOf(database, 'directory');
  await run(discord);
  assert.equal(await revisionOf(database, 'directory'), before);
  assert.deepEqual(discord.asked, ['11'], 'one server of two organisations is asked once');
  assert.equal((await eventsOf(database, 'chat.sync.completed')).length, 1);
});

test("an alliance's members follow", async () => {
  await put(database, 'alliances', [{ slug: 'north', name: 'North' }]);
  const discord = await stage({ '11': 50, '22': 7 }, [
    org('a', '11', 1, { alliance: 'north' }),
    org('b', '22', 1, { alliance: 'north', listed: false }),
  ]);
  await run(discord);
  assert.equal((await stateOf(database, 'alliances'))[0]?.['member_count'], 50);
});

test('a server that cannot be read keeps its count and is reported, and the run continues', async () => {
  const failing: Record<string, Guild> = {
    '1': (response) => send(response, 403, { message: 'Missing Access', code: 50_001 }),
    '2': (response) => send(response, 404, { message: 'Unknown Guild', code: 10_004 }),
    '3': (response) => send(response, 500, { message: 'Internal Server Error' }),
    '4': (response) => response.writeHead(200).end('<html>'),
    '5': (response) => send(response, 200, { id: '5' }),
    '6': (response) => sendGuild(response, '6', -1),
    '7': (response) => sendGuild(response, '7', '12'),
    '8': (response) => sendGuild(response, '8', 2 ** 31),
    '9': (response) => response.destroy(),
    '10': () => {},
    '11': (response) => response.writeHead(200).end(Buffer.alloc(3 * 1024 * 1024, ' ')),
    '12': (response) => response.writeHead(302, { location: 'https://elsewhere.example' }).end(),
    '13': (response) =>
      response.writeHead(200, { 'content-length': '100' }).end('{', () => response.destroy()),
  };
  const ids = Object.keys(failing);
  const discord = await stage({ ...failing, '99': 12 }, [
    ...ids.map((id) => org(`failing-${id}`, id, 5)),
    org('well', '99', 1),
    org('garbled', 'not/../a/number', 5),
  ]);
  const done = runOf(await run(discord, { timeoutMs: 1_000 }));
  assert.deepEqual(done.counts, {
    orgs: ids.length + 2,
    updated: 1,
    unchanged: 0,
    failed: ids.length + 1,
    members: 5 * (ids.length + 1) + 12,
  });
  const members = await membersOf();
  assert.equal(members['well'], 12);
  assert.ok(Object.entries(members).every(([slug, count]) => slug === 'well' || count === 5));
  assert.equal(done.problems.length, ids.length + 1);
});

test('a failed request to Discord is retried', async () => {
  const guild: Guild = (response, number) =>
    number === 1 ? send(response, 502, {}) : sendGuild(response, '11', 3);
  const discord = await stage({ '11': guild }, [org('a', '11')]);
  assert.deepEqual(runOf(await run(discord)).counts?.['updated'], 1);
});

for (const [what, seconds, how, status] of [
  ['a 429 that says by header how long to wait', 1, 'header', null],
  ['a 429 that says by json how long to wait', 0.2, 'json', null],
  ['a 429 that says by global how long to wait', 0.2, 'global', null],
  ['an exhausted bucket', 0.3, 'remaining', 500],
] as const)
  test(`${what} is waited for`, async () => {
    const guild: Guild = (response, number) => {
      if (number > 1) return sendGuild(response, '11', 3);
      const closed = discord.close(response, seconds, how);
      return status && send(closed, status, {});
    };
    const discord = await stage({ '11': guild }, [org('a', '11')]);
    assert.equal(runOf(await run(discord)).counts?.['updated'], 1);
    assert.equal(discord.early, 0);
    assert.equal(discord.asked.length, 2);
  });

test('no wait exceeds the run, and servers that were not reached count as failed', async () => {
  const discord = await stage({ '22': 7 }, [org('a', '11', 1), org('b', '22', 1)]);
  discord.guilds.set('11', (response) => discord.close(response, 3_600, 'json'));
  const outcome = await run(discord, { askMsMax: 5_000 });
  // Which of the two was asked for first is left to chance.
  const { counts, reason, problems } = runOf(outcome);
  if (outcome.kind === 'failed') assert.equal(reason, 'unavailable');
  else {
    assert.deepEqual([counts?.['updated'], counts?.['failed']], [1, 1]);
    assert.match(problems[0]?.reason ?? '', /longer than the run may take/);
  }
});

test('a rate-limited server is retried until the run ends, and the others continue', async () => {
  const discord = await stage({ '22': 7 }, [org('a', '11', 1), org('b', '22', 1)]);
  discord.guilds.set('11', (response) => discord.close(response, 0.2, 'json'));
  const done = runOf(await run(discord, { askMsMax: 3_000 }));
  assert.deepEqual(
    done.problems.map(({ subject, reason }) => [subject, reason]),
    [['a', 'Discord asked to wait longer than the run may take']],
  );
  assert.equal((await membersOf())['b'], 7);
});

test('a small bucket shared by all servers is waited for, and every server is read', async () => {
  const ids = Array.from({ length: 20 }, (_, index) => String(1000 + index));
  const discord = await stage(
    Object.fromEntries(ids.map((id, index) => [id, 5 + index])),
    ids.map((id) => org(`org-${id}`, id)),
  );
  discord.bucket = { requests: 2, windowMs: 200 };
  const done = runOf(await run(discord));
  assert.deepEqual([done.counts?.['updated'], done.counts?.['failed'], done.problems], [20, 0, []]);
  // Nobody knows of the bucket until the first answer: those who ask at once are refused, once each at most.
  assert.ok(discord.asked.length <= 28, `${discord.asked.length} requests for 20 servers`);
});

test('invalid requests that Discord counts are slowed down', async () => {
  const limit = createRateLimit({ invalidMax: 3 });
  const soon = () => performance.now() + 60_000;
  const { signal } = new AbortController();
  for (let count = 1; count <= 3; count += 1) {
    assert.equal(await limit.take(soon(), signal), true);
    limit.note({ status: 403, headers: {}, body: null });
  }
  assert.equal(await limit.take(soon(), signal), false);
});

for (const [name, answer] of [
  ['404 of no guild', (response) => send(response, 404, { message: '404: Not Found', code: 0 })],
  ['404 as a page', (response) => response.writeHead(404).end('<html>')],
] as const satisfies [string, Guild][])
  test(`an address that is not Discord's (${name}) fails the run`, async () => {
    const discord = await stage({ '11': answer, '22': answer }, [org('a', '11'), org('b', '22')]);
    const done = runOf(await run(discord));
    assert.deepEqual([done.status, done.reason], ['failed', 'unavailable']);
    assert.match(done.message ?? '', /Discord answered 404/);
  });

for (const [name, answer] of [
  ['401', (response) => send(response, 401, { message: '401: Unauthorized', code: 0 })],
  [
    '403 about the bot',
    (response) => send(response, 403, { message: 'Unauthorized.', code: 40_001 }),
  ],
] as const satisfies [string, Guild][])
  test(`a token that is not accepted (${name}) ends the run, which changes nothing`, async () => {
    const ids = Array.from({ length: 200 }, (_, index) => String(1000 + index));
    const discord = await stage(
      Object.fromEntries(ids.map((id) => [id, answer])),
      ids.map((id) => org(`org-${id}`, id)),
    );
    const before = await stateOf(database, 'orgs');
    const outcome = await run(discord);
    assert.equal(outcome.kind, 'failed');
    assert.equal(runOf(outcome).reason, 'unauthorized');
    assert.match(runOf(outcome).message ?? '', /does not accept the token/);
    assert.deepEqual(await stateOf(database, 'orgs'), before);
    assert.deepEqual(await eventsOf(database, 'chat.sync.completed'), []);
    assert.ok(discord.asked.length < 50, `${discord.asked.length} requests with a dead token`);
  });

test('no run contains the token', async () => {
  const discord = await stage({}, [org('a', '11')]);
  const token = 'secret-token-of-a-bot';
  await run(discord, { token });
  await run({ ...discord, baseUrl: 'http://127.0.0.1:1' }, { token });
  discord.guilds.set('11', (response) => response.writeHead(500, { 'x-token': token }).end(token));
  await run(discord);
  const { runs } = await listRuns(database, { kind: 'chat', page: 1, limit: 10 });
  assert.deepEqual(
    runs.map(({ reason }) => reason),
    ['unavailable', 'unavailable', 'unauthorized'],
  );
  assert.doesNotMatch(JSON.stringify(runs), /secret-token/);
});

test('a provider that is unavailable ends the run early', async () => {
  const ids = Array.from({ length: 300 }, (_, index) => String(1000 + index));
  const away: Guild = (response) => response.destroy();
  const discord = await stage(
    Object.fromEntries(ids.map((id) => [id, away])),
    ids.map((id) => org(`org-${id}`, id)),
  );
  const done = runOf(await run(discord));
  assert.equal(done.reason, 'unavailable');
  assert.ok(discord.asked.length < 200, `${discord.asked.length} requests`);
});

test('changes of organisations during a run are kept, except their count', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const discord = await stage({}, [
    org('renamed', '11'),
    org('moved', '22'),
    org('hidden', '33'),
    org('gone', '44'),
  ]);
  for (const id of ['11', '22', '33', '44'])
    discord.guilds.set(id, (response) => void released.then(() => sendGuild(response, id, 70)));
  const running = run(discord);
  await eventually(async () => discord.asked.length === 4);
  await sql`update orgs set name = 'Anew', notes = 'kept' where slug = 'renamed'`.execute(database);
  await sql`update orgs set chat_server_id = '55' where slug = 'moved'`.execute(database);
  await sql`update orgs set listed = false where slug = 'hidden'`.execute(database);
  await sql`delete from orgs where slug = 'gone'`.execute(database);
  release();
  const done = runOf(await running);
  assert.deepEqual(await membersOf(), { renamed: 70, moved: 1, hidden: 70 });
  const renamed = (await stateOf(database, 'orgs')).find((row) => row['slug'] === 'renamed');
  assert.deepEqual([renamed?.['name'], renamed?.['notes']], ['Anew', 'kept']);
  assert.deepEqual(done.counts, { orgs: 1, updated: 1, unchanged: 0, failed: 0, members: 70 });
});

test('no transaction is open while Discord is asked', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const discord = await stage({}, [org('a', '11')]);
  discord.guilds.set('11', (response) => void released.then(() => sendGuild(response, '11', 2)));
  const running = run(discord);
  await eventually(async () => discord.asked.length === 1);
  const { rows } = await sql<{ open: number }>`
    select count(*) as open from pg_stat_activity
    where application_name like 'orgdir sync chat%' and datname = current_database() and xact_start is not null
  `.execute(database);
  assert.equal(rows[0]?.open, 0);
  release();
  await running;
});

test('a run retries its write after a deadlock', async () => {
  await put(database, 'alliances', [{ slug: 'north', name: 'North' }]);
  const discord = await stage({ '11': 50, '22': 7 }, [
    org('first', '11', 1, { alliance: 'north' }),
    org('second', '22'),
  ]);
  let running: Promise<unknown> = Promise.resolve();
  await database.transaction().execute(async (tx) => {
    await sql`update alliances set name = 'Anew' where slug = 'north'`.execute(tx);
    let waiting: Promise<unknown> = Promise.resolve();
    await database.transaction().execute(async (third) => {
      await sql`select from orgs where slug = 'second' for update`.execute(third);
      running = run(discord);
      await isWaiting(database, sql`application_name like 'orgdir sync chat%'`);
      // It has the first organisation, and waits for the second.
      waiting = sql`update orgs set notes = 'kept' where slug = 'first'`.execute(tx);
      waiting.catch(() => {});
      // PostgreSQL looks for a circle once, so long after a wait began. There is none yet: the run will find it.
      await isWaiting(
        database,
        sql`
        query like 'update orgs set notes%'
        and clock_timestamp() - query_start > 3 * current_setting('deadlock_timeout')::interval
      `,
      );
    });
    await waiting;
  });
  assert.equal(runOf((await running) as never).counts?.['updated'], 2);
  assert.deepEqual(await membersOf(), { first: 50, second: 7 });
});

test('a run whose process stops changes nothing and is recorded as stopped', async () => {
  const stop = new AbortController();
  const discord = await stage({ '22': 7 }, [org('a', '11'), org('b', '22')]);
  discord.guilds.set('11', () => stop.abort());
  const done = runOf(await run(discord, { signal: stop.signal }));
  assert.deepEqual([done.status, done.reason], ['failed', 'stopped']);
  assert.deepEqual(await membersOf(), { a: 1, b: 1 });
});

test('a run without chat servers succeeds without requests', async () => {
  const discord = await stage({}, [org('a', null)]);
  const done = runOf(await run(discord));
  assert.deepEqual(done.counts, { orgs: 0, updated: 0, unchanged: 0, failed: 0, members: 0 });
  assert.deepEqual(discord.asked, []);
});
