import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { put } from '../../service/test/support/directory.ts';
import { eventually } from '../../service/test/support/eventually.ts';
import { startProxy, type Proxy } from '../../service/test/support/proxy.ts';
import { startTestService, type TestService } from '../../service/test/support/service.ts';
import { disableMaintenance, enableMaintenance } from '../../service/src/system/maintenance.ts';
import { testActor } from '../../service/test/support/actor.ts';
import {
  createClient,
  ApiError,
  NetworkError,
  type Client,
  type RetryDetails,
} from '@orgdir/client';
import { parseRetryAfter } from '../src/retry-after.ts';
import { retryWaitMs, type Failure } from '../src/retry.ts';
import { TimeoutError } from '../src/timeout-error.ts';
import { UnexpectedResponseError } from '../src/unexpected-response-error.ts';
import { errorAnswer, okAnswer, startScriptedServer } from './support/scripted-server.ts';

const service = await startTestService();
await put(service.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
await service.settled();

test('a read is retried on another connection', async () => {
  const { proxy, client } = await behindProxy(service);
  const arrived = loseNextAnswer(proxy);
  const answer = client.orgs.get('acme');
  await arrived;
  const arrivedAgain = once(service.app.server, 'request');
  proxy.cut();
  proxy.mend();
  assert.equal((await answer).name, 'Acme');
  await arrivedAgain;
});

test('a webhook creation without a response is not retried', async () => {
  const { proxy, client } = await behindProxy(service);
  const arrived = loseNextAnswer(proxy);
  const answer = client.webhooks.create({ url: 'https://receiver.test/' });
  answer.catch(() => {});
  await arrived;
  const direct = createClient({ baseUrl: service.url, apiKey: service.key });
  await eventually(async () => (await direct.webhooks.list()).data.length > 0);
  proxy.cut();
  proxy.mend();
  await assert.rejects(answer, NetworkError);
  assert.equal((await direct.webhooks.list()).data.length, 1);
});

test('a webhook creation with an idempotency key is retried, and its webhook is created once', async () => {
  const direct = createClient({ baseUrl: service.url, apiKey: service.key });
  const before = (await direct.webhooks.list()).data.length;
  const { proxy, client } = await behindProxy(service);
  const arrived = loseNextAnswer(proxy);
  const webhook = { url: 'https://receiver.test/' };
  const answer = client.webhooks.create(webhook, { idempotencyKey: 'once' });
  await arrived;
  await eventually(async () => (await direct.webhooks.list()).data.length > before);
  proxy.cut();
  proxy.mend();
  const created = await answer;
  assert.deepEqual(await direct.webhooks.create(webhook, { idempotencyKey: 'once' }), created);
  assert.equal((await direct.webhooks.list()).data.length, before + 1);
});

test('a rotation with an idempotency key is retried, and makes one secret', async () => {
  const direct = createClient({ baseUrl: service.url, apiKey: service.key });
  const { id } = await direct.webhooks.create({ url: 'https://receiver.test/' });
  const { proxy, client } = await behindProxy(service);
  const arrived = loseNextAnswer(proxy);
  const request = { overlapSeconds: 0 };
  const answer = client.webhooks.rotateSecret(id, request, { idempotencyKey: 'rotated' });
  await arrived;
  await eventually(async () => {
    const { previousSecretExpiresAt, updatedAt, createdAt } = await direct.webhooks.get(id);
    return previousSecretExpiresAt !== null || updatedAt !== createdAt;
  });
  proxy.cut();
  proxy.mend();
  const { secret } = await answer;
  const again = await direct.webhooks.rotateSecret(id, request, { idempotencyKey: 'rotated' });
  assert.equal(again.secret, secret);
});

test('an idempotency key that no header can have is a TypeError', async () => {
  const client = createClient({ baseUrl: service.url, apiKey: service.key });
  for (const idempotencyKey of ['', 'a b', 'é', 'x'.repeat(256)])
    await assert.rejects(
      client.webhooks.create({ url: 'https://a.test/' }, { idempotencyKey }),
      TypeError,
    );
});

test('a deletion without a response is retried and ends as not_found', async () => {
  const direct = createClient({ baseUrl: service.url, apiKey: service.key });
  const { id } = await direct.webhooks.create({ url: 'https://receiver.test/' });
  const { proxy, client } = await behindProxy(service);
  const arrived = loseNextAnswer(proxy);
  const answer = client.webhooks.delete(id);
  answer.catch(() => {});
  await arrived;
  await eventually(() =>
    direct.webhooks.get(id).then(
      () => false,
      () => true,
    ),
  );
  proxy.cut();
  proxy.mend();
  await assert.rejects(answer, (error) => error instanceof ApiError && error.code === 'not_found');
});

test('an unavailable service is given up after the retries', async () => {
  const { proxy, client } = await behindProxy(service, { retries: 1 });
  proxy.cut();
  await assert.rejects(client.orgs.list(), NetworkError);
});

test('a long maintenance is reported at once with its duration', async () => {
  const client = createClient({ baseUrl: service.url, apiKey: service.key });
  const expectedEnd = new Date(Date.now() + 1_800_000);
  await enableMaintenance(service.database, testActor, { message: 'Moving.', expectedEnd });
  const error = await eventually(() =>
    client.orgs.list().then(
      () => null,
      (thrown) => thrown,
    ),
  );
  assert.ok(error instanceof ApiError);
  assert.deepEqual([error.code, error.message], ['maintenance', 'Moving.']);
  assert.ok((error.retryAfter ?? 0) > 1700);
  await disableMaintenance(service.database, testActor);
});

test('Retry-After is honoured, also for POST', async () => {
  const limited = errorAnswer(429, 'rate_limited', { 'retry-after': '1' });
  const server = await startScriptedServer(limited, okAnswer);
  const client = createClient({ baseUrl: server.url, apiKey: 'odk_x' });
  await client.webhooks.create({ url: 'https://receiver.test/' });
  const [first, second] = server.asked;
  assert.deepEqual([first?.method, second?.method, server.asked.length], ['POST', 'POST', 2]);
  assert.ok(second!.at - first!.at >= 990, 'no sooner than it was asked to');
});

test('a signal ends the wait for the next attempt', async () => {
  const server = await startScriptedServer(
    errorAnswer(503, 'unavailable', { 'retry-after': '50' }),
  );
  const controller = new AbortController();
  const client = createClient({ baseUrl: server.url, apiKey: 'odk_x' });
  const answer = client.orgs.list({}, { signal: controller.signal });
  answer.catch(() => {});
  await eventually(async () => server.asked.length === 1);
  controller.abort('enough');
  await assert.rejects(answer, (reason) => reason === 'enough');
});

const unavailable = errorAnswer(503, 'unavailable');

test('the hook before a retry says which retry it is, why and when, and may take its time', async () => {
  const server = await startScriptedServer(unavailable, okAnswer);
  const seen: RetryDetails[] = [];
  const client = createClient({
    baseUrl: server.url,
    beforeRetry: async (details) => {
      await nextTurn();
      seen.push({ ...details, waitMs: server.asked.length });
      assert.ok(details.waitMs >= 250 && details.waitMs <= 500);
    },
  });
  await client.orgs.get('acme');
  const [{ error, ...details } = assert.fail()] = seen;
  assert.ok(error instanceof ApiError && error.status === 503);
  const expected = { retry: 1, waitMs: 1, method: 'GET', path: '/api/v1/orgs/acme' };
  assert.deepEqual(details, expected, 'after one request');
  assert.deepEqual([seen.length, server.asked.length], [1, 2]);
});

test('a hook that throws ends the retries, and what it throws is what the call rejects with', async () => {
  const server = await startScriptedServer(unavailable);
  const stop = new Error('stop');
  const client = createClient({ baseUrl: server.url });
  const beforeRetry = () => {
    throw stop;
  };
  await assert.rejects(client.orgs.list({}, { beforeRetry }), (error) => error === stop);
  await assert.rejects(
    client.orgs.list({}, { beforeRetry: async () => beforeRetry() }),
    (error) => error === stop,
  );
  // `follow` tries failures of the service again, but not an error of the program.
  const following = client.events.follow({ pollMs: 100 }, { beforeRetry }).next();
  await assert.rejects(following, (error) => error === stop);
  assert.equal(server.asked.length, 3);
});

test('a signal ends a hook that does not end', async () => {
  const server = await startScriptedServer(unavailable);
  const controller = new AbortController();
  const beforeRetry = () => {
    controller.abort('enough');
    return new Promise<void>(() => {});
  };
  const answer = createClient({ baseUrl: server.url, beforeRetry }).status({
    signal: controller.signal,
  });
  await assert.rejects(answer, (reason) => reason === 'enough');
  assert.equal(server.asked.length, 1);
});

test('a retry that could not begin before the total limit is not waited for', async () => {
  const limited = errorAnswer(429, 'rate_limited', { 'retry-after': '50' });
  const server = await startScriptedServer(limited);
  const client = createClient({ baseUrl: server.url, totalTimeoutMs: 40_000 });
  const beforeRetry = () => assert.fail('there is no retry');
  await assert.rejects(
    client.status({ beforeRetry }),
    (error) => error instanceof ApiError && error.code === 'rate_limited',
  );
  assert.equal(server.asked.length, 1);
});

test('the total limit ends an attempt, and the hook', async () => {
  const stalled = await startScriptedServer({ ...okAnswer, stall: true });
  const client = createClient({ baseUrl: stalled.url, totalTimeoutMs: 100 });
  await assert.rejects(client.status(), (error) => {
    assert.ok(error instanceof TimeoutError);
    assert.equal(error.timeoutMs, 100);
    assert.match(error.message, /GET \/api\/v1\/status: no response within 100 ms/);
    return true;
  });
  // On a busy machine the limit is over before the server has the request.
  assert.ok(stalled.asked.length <= 1);
  const server = await startScriptedServer(unavailable);
  const beforeRetry = () => new Promise<void>(() => {});
  const given = createClient({ baseUrl: server.url, beforeRetry, totalTimeoutMs: 1000 });
  await assert.rejects(
    given.status(),
    (error) => error instanceof ApiError && error.status === 503,
  );
});

test('a total limit that is no duration, and a hook that is no function, are refused', async () => {
  const baseUrl = 'https://directory.example.org';
  const text = '5000' as unknown as number;
  for (const totalTimeoutMs of [0, -1, Number.NaN, Infinity, 2 ** 31, text])
    assert.throws(() => createClient({ baseUrl, totalTimeoutMs }), {
      name: 'RangeError',
      message: 'totalTimeoutMs must be a number of milliseconds, at least 1',
    });
  const beforeRetry = 'log' as unknown as () => void;
  assert.throws(() => createClient({ baseUrl, beforeRetry }), {
    name: 'TypeError',
    message: 'beforeRetry must be a function',
  });
});

const api = (status: number, code: string, retryAfter: number | null = null) =>
  new ApiError({ code, status, message: '', details: {}, requestId: null, retryAfter });
const odd = (status: number, retryAfter: number | null = null) =>
  new UnexpectedResponseError({ status, message: '', requestId: null, retryAfter });
const isRetried = (isIdempotent: boolean, failure: Failure) =>
  retryWaitMs({ isIdempotent, failure, attempts: 1, retries: 1, random: 0 }) !== null;

test('only unexecuted or idempotent requests are retried', () => {
  const refused = [api(429, 'rate_limited'), api(503, 'maintenance'), odd(429)];
  const unknown = [
    new NetworkError('cut'),
    new TimeoutError('late', 1),
    api(503, 'unavailable'),
    ...[502, 503, 504].map((status) => odd(status)),
  ];
  const final = [
    ...[400, 401, 403, 404, 409, 500].map((status) => api(status, 'validation_failed')),
    ...[200, 308, 418, 500].map((status) => odd(status)),
  ];
  for (const isIdempotent of [true, false]) {
    for (const failure of refused) assert.equal(isRetried(isIdempotent, failure), true);
    for (const failure of unknown) assert.equal(isRetried(isIdempotent, failure), isIdempotent);
    for (const failure of final) assert.equal(isRetried(isIdempotent, failure), false);
  }
});

test('backoff grows from half a second to eight, with jitter, up to the retries', () => {
  const failure = new NetworkError('cut');
  const waits = (random: number) =>
    [1, 2, 3, 4, 5, 6, 7].map((attempts) =>
      retryWaitMs({ isIdempotent: true, failure, attempts, retries: 6, random }),
    );
  assert.deepEqual(waits(1), [500, 1000, 2000, 4000, 8000, 8000, null]);
  assert.deepEqual(waits(0), [250, 500, 1000, 2000, 4000, 4000, null]);
});

test('Retry-After raises the wait; more than a minute is reported to the caller', () => {
  const wait = (seconds: number) =>
    retryWaitMs({
      isIdempotent: true,
      failure: api(429, 'rate_limited', seconds),
      attempts: 1,
      retries: 1,
      random: 0,
    });
  assert.deepEqual([wait(0), wait(2), wait(60), wait(61)], [250, 2000, 60_000, null]);
});

test('Retry-After may be seconds or a date in all three forms; garbage is none', () => {
  const now = Date.parse('1994-11-06T08:49:00Z');
  const read = (value: string | null) => parseRetryAfter(value, now);
  assert.deepEqual(['0', ' 120 ', '999999999'].map(read), [0, 120, 999_999_999]);
  const dates = [
    'Sun, 06 Nov 1994 08:49:37 GMT',
    'Sunday, 06-Nov-94 08:49:37 GMT',
    'Sun Nov  6 08:49:37 1994',
  ];
  assert.deepEqual(dates.map(read), [37, 37, 37]);
  assert.equal(read('Sun, 06 Nov 1994 08:48:00 GMT'), 0, 'already past');
  for (const garbage of [null, '', '1.5', '-1', 'soon', 'Sunday', '1e3', '9999999999'])
    assert.equal(read(garbage), null, String(garbage));
});

test('a date in Retry-After is read by the clock of the server', async () => {
  const retryAfterOf = async (headers: Record<string, string>) => {
    const client = createClient({
      baseUrl: 'http://directory.test',
      retries: 0,
      fetch: async () => new Response('', { status: 503, headers }),
    });
    const error = await client.status().catch((thrown: unknown) => thrown);
    return (error as UnexpectedResponseError).retryAfter;
  };
  const date = 'Sun, 06 Nov 2033 08:49:00 GMT';
  const until = 'Sun, 06 Nov 2033 08:49:37 GMT';
  assert.equal(await retryAfterOf({ date, 'retry-after': until }), 37);
  for (const unusable of ['soon', ''])
    assert.ok(((await retryAfterOf({ date: unusable, 'retry-after': until })) ?? 0) > 3_600);
});

/** Resolves when the next request has reached the service, whose response is lost. */
function loseNextAnswer(proxy: Proxy): Promise<void> {
  return new Promise((resolve) => {
    service.app.server.prependOnceListener('request', () => {
      proxy.stall();
      resolve();
    });
  });
}

/** A client whose way to the service can be cut. */
async function behindProxy(to: TestService, options: { retries?: number } = {}) {
  const { hostname, port } = new URL(to.url);
  const proxy = await startProxy({ host: hostname, port: Number(port) });
  after(() => proxy.close());
  const baseUrl = `http://127.0.0.1:${proxy.port}`;
  const client: Client = createClient({ baseUrl, apiKey: to.key, ...options });
  return { proxy, client };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
