/**
 * Whether the time of a response says that an unlisted organisation or an account exists. A stranger sends pairs of requests,
 * one with the name of an unlisted organisation and one with a name that nobody has, each only once. The area under the ROC curve (AUC)
 * is the share of such pairs that the durations would order: 0.5 says nothing. It compares within one run, and load moves it
 * towards 0.5, so it runs on a quiet machine, and only if asked: `TIMING_PAIRS=2000`. A run with fewer pairs tries out the test:
 * its interval is too wide to show that there is no difference.
 *
 * With 2,000 pairs, on two cores with other load, every interval is ±0.018: search 0.520, suggestions 0.510, with the start of
 * a name 0.505; explain by time 0.517, by id 0.504; a request for a link 0.506, while sign-up is closed 0.505.
 */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { Agent, request, type RequestOptions } from 'node:http';
import { after, test } from 'node:test';
import { sql } from '../../src/database/database.ts';
import { setSignUpBlock } from '../../src/sign-in/sign-up-blocks.ts';
import { publishEvent } from '../../src/directory/publish-in-groups.ts';
import { testActor } from '../support/actor.ts';
import { put } from '../support/directory.ts';
import { fanOutParked } from '../support/queue.ts';
import { startTestService, testPublicUrl } from '../support/service.ts';

const pairs = Number(process.env['TIMING_PAIRS'] ?? 0);
const options = { skip: pairs > 0 ? false : 'it runs if TIMING_PAIRS says how many' };
const warmUp = 200;
const aucMax = 0.55;
/** So many bring the end of the interval to 0.52 if there is no difference. */
const pairsEnough = 2_000;
/** Of the normal distribution, for an interval of 95 %. */
const z = 1.96;

const service = await startTestService();
const { database, key } = service;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
after(() => agent.destroy());

/** Two words of letters that only this name has. */
function drawName(): string {
  const letters = [...randomBytes(16)].map((byte) => String.fromCharCode(97 + (byte % 26)));
  return `${letters.slice(0, 8).join('')} ${letters.slice(8).join('')}`;
}
const drawNames = () => Array.from({ length: warmUp + pairs }, drawName);
const slugOf = (name: string) => name.replace(' ', '-');
const [unlisted, absent, listed] = [drawNames(), drawNames(), drawNames()];
for (const [names, isListed] of [
  [unlisted, false],
  [listed, true],
] as const)
  await put(
    database,
    'orgs',
    names.map((name) => ({ slug: slugOf(name), name, listed: isListed })),
  );
await service.settled();

type Timed = { ms: number; text: string };
type Send = (index: number) => Promise<Timed>;

/** The duration of one request, from its first byte to the last of its response, in milliseconds. */
function time(url: string, settings: RequestOptions, body?: string): Promise<Timed> {
  const { promise, resolve, reject } = Promise.withResolvers<Timed>();
  const startedAt = performance.now();
  request(url, { agent, ...settings }, (response) => {
    let text = '';
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => (text += chunk));
    response.on('end', () => resolve({ ms: performance.now() - startedAt, text }));
  })
    .on('error', reject)
    .end(body);
  return promise;
}

const get = (path: string) =>
  time(`${service.url}/api/v1${path}`, { headers: { authorization: `Bearer ${key}` } });

let linkCount = 0;

/** An address may request 30 links per hour. */
function requestLink(email: string): Promise<Timed> {
  linkCount += 1;
  const from = Math.floor(linkCount / 25);
  return time(
    `${service.url}/portal/api/password-links`,
    {
      method: 'POST',
      headers: { origin: testPublicUrl, 'content-type': 'application/json' },
      localAddress: `127.1.${from >> 8}.${from & 255}`,
    },
    JSON.stringify({ email }),
  );
}

/** By rank sums, with the variance of DeLong's method. */
function aucOf(high: number[], low: number[]): { auc: number; margin: number } {
  const ofHigh = high.map((value) => shareBelow(value, low));
  const ofLow = low.map((value) => 1 - shareBelow(value, high));
  const auc = mean(ofHigh);
  const variance = spread(ofHigh, auc) / high.length + spread(ofLow, auc) / low.length;
  return { auc, margin: z * Math.sqrt(variance) };
}

function shareBelow(value: number, others: number[]): number {
  let below = 0;
  for (const other of others) below += other < value ? 1 : other === value ? 0.5 : 0;
  return below / others.length;
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function spread(values: number[], around: number): number {
  return values.reduce((sum, value) => sum + (value - around) ** 2, 0) / (values.length - 1);
}

/** Each pair must get the same response except for what the request says itself. */
async function assertSame(what: string, ofKnown: Send, ofAbsent: Send): Promise<void> {
  const times = { known: [] as number[], absent: [] as number[] };
  for (let index = 0; index < warmUp + pairs; index += 1) {
    const found = { known: { ms: 0, text: '' }, absent: { ms: 0, text: '' } };
    const order = ['known', 'absent'] as const;
    for (const kind of Math.random() < 0.5 ? order : order.toReversed())
      found[kind] = await (kind === 'known' ? ofKnown : ofAbsent)(index);
    assert.equal(found.known.text, found.absent.text);
    if (index < warmUp) continue;
    times.known.push(found.known.ms);
    times.absent.push(found.absent.ms);
  }
  const { auc, margin } = aucOf(times.known, times.absent);
  const text = `${what}: AUC ${auc.toFixed(3)} ± ${margin.toFixed(3)}`;
  console.log(text);
  const difference = Math.max(auc, 1 - auc);
  // Fewer pairs only show that there is a difference.
  assert.ok((pairs < pairsEnough ? difference - margin : difference + margin) <= aucMax, text);
}

const at = (names: string[], index: number) => names[index] ?? '';

test(
  'the measurement sees a difference between a listed name and one that nobody has',
  options,
  async () => {
    const times = { listed: [] as number[], absent: [] as number[] };
    for (let index = 0; index < pairs / 2; index += 1) {
      times.listed.push((await get(`/orgs?search=${slugOf(at(listed, index))}`)).ms);
      times.absent.push((await get(`/orgs?search=${slugOf(drawName())}`)).ms);
    }
    const { auc, margin } = aucOf(times.listed, times.absent);
    assert.ok(Math.abs(auc - 0.5) > margin, `AUC ${auc.toFixed(3)} ± ${margin.toFixed(3)}`);
  },
);

for (const path of ['/orgs?search=', '/suggest?q='])
  test(`${path} takes as long for an unlisted name as for one that nobody has`, options, () =>
    assertSame(
      path,
      (index) => get(path + encodeURIComponent(at(unlisted, index))),
      (index) => get(path + encodeURIComponent(at(absent, index))),
    ),
  );

test('so do the starts of names, as somebody types them', options, () =>
  assertSame(
    '/suggest?q= with the start of a name',
    (index) => get(`/suggest?q=${at(unlisted, index).slice(0, 6)}`),
    (index) => get(`/suggest?q=${at(absent, index).slice(0, 6)}`),
  ),
);

test(
  'explaining takes as long for an unlisted slug, and for the event of another, as for none',
  options,
  async () => {
    const { body } = await service.call('/webhooks', {
      method: 'POST',
      json: { url: 'https://example.org/hook' },
    });
    const base = `/webhooks/${body.data.id}/explain`;
    const now = new Date().toISOString();
    const explain = (slug: string) =>
      `${base}?event=application.created&subject=${slug}&at=${encodeURIComponent(now)}`;
    await assertSame(
      'explain by time',
      (index) => get(explain(slugOf(at(unlisted, index)))),
      (index) => get(explain(slugOf(at(absent, index)))),
    );
    const data = { id: 'a-1', applicantHandle: 'h', submittedAt: '2026-11-20T12:00:00.000Z' };
    await database.transaction().execute(async (tx) => {
      for (const name of unlisted)
        await publishEvent(tx, {
          name: 'application.created',
          org: slugOf(name),
          alliance: null,
          data,
          publicUrl: testPublicUrl,
        });
    });
    while ((await fanOutParked(database)).more);
    const { rows } = await sql<{ id: string }>`
    select id from events where name = 'application.created' order by position
  `.execute(database);
    // Of the same time, as an attacker would guess it.
    const guesses = rows.map(({ id }) => id.slice(0, 19) + randomUUID().slice(19));
    await assertSame(
      'explain by id',
      (index) => get(`${base}/${rows[index]?.id}`),
      (index) => get(`${base}/${guesses[index]}`),
    );
  },
);

for (const [what, pattern] of [
  ['a link', null],
  ['a link while sign-up is closed', '*'],
] as const)
  test(`a request for ${what} takes as long for an address with an account`, options, async () => {
    if (pattern)
      await database.transaction().execute((tx) => setSignUpBlock(tx, testActor, pattern, true));
    const of = (kind: string) => (index: number) =>
      requestLink(`${kind}-${index}@${pattern ? 'closed' : 'open'}.test`);
    await sql`
      insert into users (id, name, email, email_verified)
      select gen_random_uuid(), 'Ada', 'known-' || n || ${pattern ? '@closed.test' : '@open.test'}, true from generate_series(0, ${warmUp + pairs}::int) n
    `.execute(database);
    await assertSame(`a request for ${what}`, of('known'), of('absent'));
  });
