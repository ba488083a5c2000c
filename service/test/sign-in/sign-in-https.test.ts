/** Signing in as in production: through a proxy with TLS, with the cookies of a secure origin, and with GitHub and Discord. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request as send } from 'node:http';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { sql } from '../../src/database/database.ts';
import { runCommand } from '../support/command.ts';
import { openTestDatabase, toUrl } from '../support/database.ts';
import { password } from '../support/portal.ts';
import {
  providerAuthority,
  serverIdentity,
  startSignInProviders,
} from '../support/sign-in-providers.ts';
import { startProcess } from '../support/start-process.ts';

const host = 'directory.example.org';
const publicUrl = `https://${host}`;
const { database, connection } = await openTestDatabase();
const providers = await startSignInProviders();
const env = {
  DATABASE_URL: toUrl(connection),
  SECRET_KEY: randomBytes(32).toString('base64'),
  PUBLIC_URL: publicUrl,
  TRUST_PROXY: '127.0.0.0/8',
};
const { url } = await startProcess('api', { ...env, ...providers.env });
const balancer = await startBalancer(url);

/** Ends TLS, as a load balancer does. */
async function startBalancer(target: string): Promise<number> {
  const server = createServer(serverIdentity, (received, response) => {
    const { method = 'GET', url: path = '/', headers } = received;
    const forwarded = {
      ...headers,
      'x-forwarded-for': received.socket.remoteAddress ?? '',
      'x-forwarded-proto': 'https',
    };
    const onward = send(new URL(path, target), { method, headers: forwarded }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(response);
    });
    received.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

type Answer = { status: number; location: string; cookies: string[]; body: any };

/** A browser: its cookies are those that a browser would take from a secure origin. */
class Browser {
  readonly #cookies = new Map<string, string>();

  async call(path: string, json?: object): Promise<Answer> {
    const method = json ? 'POST' : 'GET';
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = {
      host,
      ...(cookie && { cookie }),
      ...(json && { origin: publicUrl, 'content-type': 'application/json' }),
    };
    const options = { method, headers, port: balancer, host: '127.0.0.1', path };
    const tls = { servername: host, ca: providerAuthority, agent: false } as const;
    const sent = request({ ...options, ...tls });
    sent.end(json && JSON.stringify(json));
    const [response] = await once(sent, 'response');
    const content = await text(response);
    const cookies: string[] = response.headers['set-cookie'] ?? [];
    for (const each of cookies) this.#take(each);
    const { location = '' } = response.headers;
    const body = content.startsWith('{') ? JSON.parse(content) : content;
    return { status: response.statusCode, location, cookies, body };
  }

  /** RFC 6265bis, 4.1.3.2: a cookie with this prefix is of this host alone, or of nobody. */
  #take(cookie: string): void {
    const [pair = '', ...attributes] = cookie.split(/; */);
    const lower = attributes.map((each) => each.toLowerCase());
    assert.match(pair, /^__Host-orgdir\./);
    for (const attribute of ['secure', 'httponly', 'samesite=lax', 'path=/'])
      assert.ok(lower.includes(attribute), `${cookie} lacks ${attribute}`);
    assert.ok(!lower.some((each) => each.startsWith('domain')), cookie);
    const [name = '', value = ''] = pair.split('=');
    if (value === '' || lower.includes('max-age=0')) this.#cookies.delete(name);
    else this.#cookies.set(name, value);
  }

  /** Signs in with a provider, and returns where it ends. */
  async comeFrom(
    provider: 'github' | 'discord',
    change: (back: URL) => void = () => {},
  ): Promise<Answer> {
    const page = '/profile/developer';
    const back = { provider, callbackURL: page, errorCallbackURL: `${page}/sign-in` };
    const begun = await this.call('/portal/api/sign-in/provider', back);
    assert.equal(begun.status, 200, JSON.stringify(begun.body));
    const returned = providers.authorize(begun.body.data.url);
    assert.equal(
      `${returned.origin}${returned.pathname}`,
      `${publicUrl}/portal/api/auth/callback/${provider}`,
    );
    change(returned);
    return this.call(returned.pathname + returned.search);
  }

  async whoIs(): Promise<string | null> {
    const { status, body } = await this.call('/portal/api/session');
    return status === 200 ? body.data.user.email : null;
  }
}

const isRefused = ({ status, location }: Answer) => status === 302 && location.includes('error=');

test('a session over HTTPS has a cookie of this host alone, and ends with it', async () => {
  const { stdout } = await runCommand(['accounts', 'link', 'ada@example.org'], { env });
  const [, token] = /set-password#([\w-]{43})/.exec(stdout) ?? [];
  const browser = new Browser();
  const set = await browser.call('/portal/api/password', { token, password, name: 'Ada' });
  assert.equal(set.status, 200, JSON.stringify(set.body));
  const json = { email: 'ada@example.org', password };
  const signedIn = await browser.call('/portal/api/sign-in', json);
  assert.equal(signedIn.status, 200);
  assert.ok(signedIn.cookies.length > 0);
  assert.equal(await browser.whoIs(), 'ada@example.org');
  const { body } = await browser.call('/portal/api/account/sessions');
  assert.deepEqual(
    body.data.map(({ ipAddress }: { ipAddress: string }) => ipAddress),
    ['127.0.0.1'],
  );
  assert.equal((await browser.call('/portal/api/sign-out', {})).status, 200);
  assert.equal(await browser.whoIs(), null);
});

test('GitHub: the verified primary address is the account, public or not, and the same one again', async () => {
  const emails = [
    { email: 'other@example.org', primary: false, verified: true },
    { email: 'Grace@example.org', primary: true, verified: true },
  ];
  for (const isEmailPublic of [false, true]) {
    providers.person = { id: 583_231, name: 'Grace', emails, isEmailPublic };
    const browser = new Browser();
    const answer = await browser.comeFrom('github');
    assert.ok(!isRefused(answer), answer.location);
    assert.equal(await browser.whoIs(), 'grace@example.org');
  }
  const { rows } = await sql<{ account_id: string; access_token: string | null }>`
    select account_id, access_token from accounts where provider_id = 'github'
  `.execute(database);
  assert.deepEqual(rows, [{ account_id: '583231', access_token: null }]);
});

test('GitHub and Discord: an address that is not verified, or missing, is nobody’s', async () => {
  const unverified = [{ email: 'victim@example.org', primary: true, verified: false }];
  let id = 1_000;
  for (const provider of ['github', 'discord'] as const)
    for (const emails of [unverified, []]) {
      id += 1;
      providers.person = { id, emails };
      const browser = new Browser();
      const answer = await browser.comeFrom(provider);
      assert.ok(!isRefused(answer), answer.location);
      assert.equal(await browser.whoIs(), `${id}@${provider}.invalid`);
    }
});

test('GitHub and Discord: a sign-up that the database refuses says what to do', async () => {
  await sql`
    create function refuse() returns trigger language plpgsql as $$ begin raise 'no room'; end $$;
    create trigger refuse before insert on users for each row execute function refuse();
  `.execute(database);
  for (const provider of ['github', 'discord'] as const) {
    providers.person = { id: 55, emails: [] };
    const { status, location } = await new Browser().comeFrom(provider);
    assert.equal(status, 302);
    assert.equal(new URL(location).searchParams.get('error'), 'unavailable');
  }
  await sql`drop function refuse cascade`.execute(database);
});

test('Discord: a verified address is the account', async () => {
  const emails = [{ email: 'linus@example.org', primary: true, verified: true }];
  providers.person = { id: 80_351_110, name: 'Linus', emails };
  const browser = new Browser();
  const { cookies } = await browser.comeFrom('discord');
  assert.equal(await browser.whoIs(), 'linus@example.org');
  assert.ok(
    cookies.some((cookie) => cookie.startsWith('__Host-orgdir.device=')),
    'it is a known device now',
  );
});

test('a wrong or used code, a refusal, another state and another browser sign nobody in', async () => {
  for (const provider of ['github', 'discord'] as const) {
    providers.person = { id: 7, emails: [] };
    const changes: ((back: URL) => void)[] = [
      (back) => back.searchParams.set('code', 'wrong'),
      (back) => back.searchParams.set('state', 'x'.repeat(32)),
      (back) => {
        back.searchParams.delete('code');
        back.searchParams.set('error', 'access_denied');
      },
    ];
    for (const change of changes) {
      const browser = new Browser();
      assert.ok(isRefused(await browser.comeFrom(provider, change)));
      assert.equal(await browser.whoIs(), null);
    }
    let used = '';
    await new Browser().comeFrom(provider, (back) => void (used = back.pathname + back.search));
    const another = new Browser();
    await another.call(used);
    assert.equal(await another.whoIs(), null);
  }
});
