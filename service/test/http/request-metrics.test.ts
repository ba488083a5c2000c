/** Every request is counted once, by its operation, with a bounded number of labels. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { test } from 'node:test';
import { runningMax } from '../../src/http/admission/caller-turns.ts';
import { put } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { startInternalApi } from '../support/internal-api.ts';
import { postPortal, signUp } from '../support/portal.ts';
import { rawRequest, sendBytes } from '../support/raw-request.ts';
import { samples } from '../support/samples.ts';
import { makeKey, startTestService, type TestService } from '../support/service.ts';

const requestsOf = (operation: string, key: string, status: string) =>
  `orgdir_http_requests_total{operation="${operation}",key="${key}",status="${status}"}`;
const scrape = async ({ metrics }: TestService) => samples(await metrics.render());

/** Waits until these samples have grown by this much, then asserts that no other request was counted. */
async function assertCounted(
  service: TestService,
  expected: Record<string, number>,
  act: () => Promise<unknown>,
): Promise<void> {
  const before = await scrape(service);
  await act();
  // What is counted twice is counted by the time that a later request is.
  await fetch(`${internal.url}/livez`);
  const wanted = { ...expected, [requestsOf('/livez', 'none', '2xx')]: 1 };
  const grown = await eventually(async () => {
    const differences = [...(await scrape(service))]
      .filter(([name]) => name.startsWith('orgdir_http_requests_total'))
      .map(([name, value]) => [name, value - (before.get(name) ?? 0)] as const)
      .filter(([, difference]) => difference > 0);
    const total = differences.reduce((sum, [, difference]) => sum + difference, 0);
    const all = Object.values(wanted).reduce((sum, each) => sum + each, 0);
    return total >= all && Object.fromEntries(differences);
  });
  assert.deepEqual(grown, wanted);
}

const service = await startTestService();
await put(service.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
await service.settled();
const internal = await startInternalApi(service);

test('a request counts by operation, kind of key and class of status, on every surface', async () => {
  const ada = await signUp(service, 'ada@example.org');
  await eventually(async () => (await scrape(service)).get(requestsOf('signIn', 'none', '2xx')));
  await assertCounted(
    service,
    {
      [requestsOf('listOrgs', 'app', '2xx')]: 2,
      [requestsOf('listOrgs', 'app', '3xx')]: 1,
      [requestsOf('listOrgs', 'app', '4xx')]: 1,
      [requestsOf('listOrgs', 'none', '4xx')]: 1,
      [requestsOf('getOrg', 'app', '4xx')]: 1,
      [requestsOf('getSession', 'session', '2xx')]: 1,
      [requestsOf('getSession', 'none', '4xx')]: 1,
      [requestsOf('getOrgManagers', 'platform', '4xx')]: 1,
      [requestsOf('/status', 'none', '2xx')]: 1,
    },
    async () => {
      const { headers } = await service.call('/orgs');
      await service.call('/orgs');
      await service.call('/orgs', { headers: { 'if-none-match': headers.get('etag') ?? '' } });
      await service.call('/orgs?page=0');
      await service.call('/orgs', { key: null });
      await service.call('/orgs/none');
      await ada.call('/session');
      await fetch(`${service.url}/portal/api/session`);
      await internal.call('/orgs/none/managers');
      await fetch(`${service.url}/status`);
    },
  );
});

test('unknown paths share one label, however many there are', async () => {
  await assertCounted(service, { [requestsOf('unknown', 'none', '4xx')]: 60 }, async () => {
    for (let number = 0; number < 10; number += 1) {
      await service.call(`/${crypto.randomUUID()}`, { key: null });
      await fetch(`${service.url}/${crypto.randomUUID()}`);
      await fetch(`${service.url}/portal/api/${crypto.randomUUID()}`);
      await fetch(`${internal.url}/${crypto.randomUUID()}`);
      await internal.call(`/${crypto.randomUUID()}`);
      // Refused by the router.
      await rawRequest(service.url, { path: '/api/v1/orgs/%E0%A4%A' });
    }
  });
  const names = [...(await scrape(service)).keys()];
  assert.deepEqual(
    names.filter((name) => /[\da-f]{8}-[\da-f]{4}-/.test(name)),
    [],
  );
});

test('requests that never reach a route count', async () => {
  const head = 'POST /api/v1/webhooks HTTP/1.1\r\nHost: a\r\n';
  await assertCounted(service, { [requestsOf('unknown', 'none', '4xx')]: 3 }, async () => {
    await sendBytes(service.url, 'this is not HTTP\r\n\r\n');
    await sendBytes(service.url, 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n');
    await sendBytes(service.url, `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`);
  });
  await assertCounted(service, { [requestsOf('createWebhook', 'app', '4xx')]: 1 }, () =>
    sendBytes(
      service.url,
      `${head}Authorization: Bearer ${service.key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
    ),
  );
});

test('requests that come together count, with an expectation too', async () => {
  const head = `GET /api/v1/orgs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.key}\r\n`;
  await assertCounted(service, { [requestsOf('listOrgs', 'app', '2xx')]: 5 }, async () => {
    const expecting = `${head}Expect: tea\r\n\r\n`;
    await sendBytes(service.url, `${expecting}${head}Connection: close\r\n\r\n`);
    const together = `${head}\r\n`.repeat(2);
    await sendBytes(service.url, `${together}${head}Connection: close\r\n\r\n`);
  });
});

test('a request whose caller leaves counts as aborted, and an idle connection that breaks does not', async () => {
  await assertCounted(service, { [requestsOf('createWebhook', 'app', 'aborted')]: 1 }, async () => {
    const { hostname, port } = new URL(service.url);
    const idle = connect(Number(port), hostname);
    await once(idle, 'connect');
    const seen = once(service.app.server, 'request');
    const leaving = connect(Number(port), hostname);
    leaving.write(
      `POST /api/v1/webhooks HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.key}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
    );
    await seen;
    const gone = [once(idle, 'close'), once(leaving, 'close')];
    idle.resetAndDestroy();
    leaving.resetAndDestroy();
    await Promise.all(gone);
  });
});

test('a body that was announced counts once, and so does each malformed address of a connection', async () => {
  const { hostname, port } = new URL(service.url);
  await assertCounted(
    service,
    {
      [requestsOf('createWebhook', 'app', '4xx')]: 1,
      [requestsOf('unknown', 'none', '4xx')]: 3,
    },
    async () => {
      const head = `POST /api/v1/webhooks HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.key}\r\nContent-Type: application/json\r\n`;
      await sendBytes(
        service.url,
        `${head}Expect: 100-continue\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`,
      );
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      for (let requests = 0; requests < 3; requests += 1) {
        const path = '/api/v1/orgs/%E0%A4%A';
        const request = get({ hostname, port, path, agent });
        const [response] = (await once(request, 'response')) as [IncomingMessage];
        await once(response.resume(), 'end');
      }
      agent.destroy();
    },
  );
});

test('a download that breaks off counts as aborted', async () => {
  const text = 'word '.repeat(400);
  const many = Array.from({ length: 5_000 }, (_, index) => `many-${index}`);
  await put(
    service.database,
    'orgs',
    many.map((slug) => ({ slug, name: slug, description: text })),
  );
  await service.settled();
  await assertCounted(service, { [requestsOf('downloadOrgs', 'app', 'aborted')]: 1 }, async () => {
    const { hostname, port } = new URL(service.url);
    const leaving = connect(Number(port), hostname);
    leaving.write(
      `GET /api/v1/orgs.ndjson HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.key}\r\n\r\n`,
    );
    await once(leaving, 'data');
    leaving.resetAndDestroy();
    await once(leaving, 'close');
  });
});

test('slow readers of downloads keep no other request of their app waiting', async () => {
  const { hostname, port } = new URL(service.url);
  const readers = Array.from({ length: runningMax }, () => connect(Number(port), hostname));
  for (const reader of readers) {
    reader.write(
      `GET /api/v1/orgs.ndjson HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.key}\r\n\r\n`,
    );
    await once(reader, 'data');
    reader.pause();
  }
  const first = await Promise.race([
    service.call('/orgs?limit=7').then(({ status }) => status),
    ...readers.map((reader) => once(reader, 'close')),
  ]);
  assert.equal(first, 200);
  for (const reader of readers) reader.destroy();
});

test('bytes are those that were sent, and every request has a duration', async () => {
  const bytesName = 'orgdir_http_response_bytes_total{operation="getStatus"}';
  const countName = 'orgdir_http_request_duration_seconds_count{operation="getStatus"}';
  const before = await scrape(service);
  const request = 'GET /api/v1/status HTTP/1.1\r\nHost: a\r\n';
  const text = await sendBytes(
    service.url,
    `${request}\r\n${request}\r\n${request}Connection: close\r\n\r\n`,
  );
  const after = await eventually(async () => {
    const now = await scrape(service);
    return (now.get(countName) ?? 0) - (before.get(countName) ?? 0) === 3 && now;
  });
  const sent = (after.get(bytesName) ?? 0) - (before.get(bytesName) ?? 0);
  assert.equal(sent, Buffer.byteLength(text));
  const all = 'orgdir_http_request_duration_seconds_bucket{le="+Inf",operation="getStatus"}';
  assert.equal(after.get(all), after.get(countName));
});

test('requests that come together each count their own bytes', async () => {
  const bytesName = 'orgdir_http_response_bytes_total{operation="getStatus"}';
  const before = await scrape(service);
  const request = (path: string) =>
    `GET /api/v1${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.key}\r\n`;
  const text = await sendBytes(
    service.url,
    `${request('/orgs/acme?')}\r\n${request('/status')}Connection: close\r\n\r\n`,
  );
  const second = text.slice(text.lastIndexOf('HTTP/1.1 200'));
  const after = await eventually(async () => {
    const now = await scrape(service);
    return now.get(bytesName) !== before.get(bytesName) && now;
  });
  const sent = (after.get(bytesName) ?? 0) - (before.get(bytesName) ?? 0);
  assert.equal(sent, Buffer.byteLength(second));
});

test('pages from memory are hits', async () => {
  const name = (result: string) => `orgdir_response_cache_lookups_total{result="${result}"}`;
  let limit = 1;
  // A page is read again if the process has paused for a second.
  await eventually(async () => {
    limit += 1;
    const before = await scrape(service);
    for (let number = 0; number < 3; number += 1) await service.call(`/orgs?limit=${limit}`);
    const after = await scrape(service);
    const grown = (result: string) =>
      (after.get(name(result)) ?? 0) - (before.get(name(result)) ?? 0);
    return grown('hit') === 2 && grown('miss') === 1;
  });
});

test('requests over a limit count by kind of key', async () => {
  const limited = await startTestService({ env: { RATE_LIMIT_PER_MINUTE: '2' } });
  const { key } = await makeKey(limited);
  for (const each of [key, null])
    for (let number = 0; number < 4; number += 1) await limited.call('/status', { key: each });
  const name = (kind: string) => `orgdir_http_requests_rate_limited_total{key="${kind}"}`;
  const found = await eventually(async () => {
    const now = await scrape(limited);
    return now.get(requestsOf('getStatus', 'none', '4xx')) === 2 && now;
  });
  assert.deepEqual(
    ['app', 'none', 'session'].map((kind) => found.get(name(kind))),
    [2, 2, 0],
  );
});

test('sign-ins with a password count by outcome', async () => {
  const name = (outcome: string) => `orgdir_sign_ins_total{method="password",outcome="${outcome}"}`;
  const before = await scrape(service);
  await signUp(service, 'bob@example.org');
  await postPortal(service, '/sign-in', { email: 'bob@example.org', password: 'wrong password' });
  await postPortal(service, '/sign-in', {
    email: 'nobody@example.org',
    password: 'wrong password',
  });
  const after = await scrape(service);
  const grown = (outcome: string) =>
    (after.get(name(outcome)) ?? 0) - (before.get(name(outcome)) ?? 0);
  assert.deepEqual([grown('succeeded'), grown('failed')], [1, 2]);
});
