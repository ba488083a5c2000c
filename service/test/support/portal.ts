/** The portal as its pages use it: people who sign up and in, with their cookies, and every response checked against openapi.portal.json. */
import assert from 'node:assert/strict';
import { sql } from '../../src/database/database.ts';
import { checkPortalAnswer } from './openapi-check.ts';
import { send, testPublicUrl, type Answer, type CallOptions, type TestService } from './service.ts';

export type Person = {
  email: string;
  /** The headers by which a browser is recognised. */
  credentials: Record<string, string>;
  /** `path` is below `/portal/api`. */
  call: (path: string, options?: CallOptions) => Promise<Answer>;
};

export const password = 'correct horse battery staple';
const fromPortal = { origin: testPublicUrl };

/** Sends a request of the portal's pages. `cookie`: of whoever is signed in. */
export function callPortal(
  { url }: Pick<TestService, 'url'>,
  path: string,
  options: CallOptions = {},
  cookie?: string,
): Promise<Answer> {
  const headers = {
    ...fromPortal,
    ...(cookie === undefined ? {} : { cookie }),
    ...options.headers,
  };
  return send(`${url}/portal/api`, path, { ...options, headers }, checkPortalAnswer);
}

/** The same as a POST. */
export function postPortal(
  service: Pick<TestService, 'url'>,
  path: string,
  json: unknown,
  { cookie, headers }: { cookie?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  return callPortal(service, path, { method: 'POST', json, ...(headers && { headers }) }, cookie);
}

/** Cookies as a browser would send them back; one that is cleared it forgets. */
export function cookiesOf({ headers }: Pick<Answer, 'headers'>): string {
  return headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0] ?? '')
    .filter((pair) => !pair.endsWith('='))
    .join('; ');
}

/** The token of the last link that was printed for somebody; null: none was. */
export function printedToken({ printed }: Pick<TestService, 'printed'>, email: string) {
  const line = printed.findLast((each) => each.includes(`(${email})`));
  return tokenOf(line ?? '');
}

/** The token of a link that sets a password, in a text; null: there is none. */
export function tokenOf(text: string): string | null {
  return /\/profile\/developer\/set-password(?:\?[^#\s]*)?#([\w-]{43})/.exec(text)?.[1] ?? null;
}

/** The token of a link that changes an address, in a text; null: there is none. */
export function addressTokenOf(text: string): string | null {
  return /\/profile\/developer\/change-address#([\w-]{43})/.exec(text)?.[1] ?? null;
}

/** Requests a link, and uses it as the owner of the mailbox. */
export async function choosePassword(
  service: TestService,
  email: string,
  chosen: { password?: string; name?: string } = {},
): Promise<Answer> {
  const asked = await postPortal(service, '/password-links', { email });
  assert.equal(asked.status, 202, asked.text);
  const token = printedToken(service, email);
  const name = chosen.name ?? email.split('@')[0];
  return postPortal(service, '/password', { token, password, name, ...chosen });
}

/** Signs up with the link on the terminal, and signs in. */
export async function signUp(service: TestService, email: string): Promise<Person> {
  const set = await choosePassword(service, email);
  assert.equal(set.status, 200, set.text);
  return signInAs(service, email);
}

export async function signInAs(
  service: Pick<TestService, 'url'>,
  email: string,
  chosen = password,
): Promise<Person> {
  const signedIn = await postPortal(service, '/sign-in', { email, password: chosen });
  assert.equal(signedIn.status, 200, signedIn.text);
  return personOf(service, email, cookiesOf(signedIn));
}

export function personOf(service: Pick<TestService, 'url'>, email: string, cookie: string): Person {
  return {
    email,
    credentials: { ...fromPortal, cookie },
    call: (path, options) => callPortal(service, path, options, cookie),
  };
}

/** Goes to the provider where a sign-in or an addition has begun, and comes back with the cookie of the caller. */
export async function comeBack(
  service: Pick<TestService, 'url'>,
  begun: Answer,
  {
    cookie,
    headers = {},
    meanwhile,
  }: {
    cookie?: string | undefined;
    headers?: Record<string, string>;
    meanwhile?: (() => Promise<unknown>) | undefined;
  } = {},
): Promise<Answer> {
  assert.equal(begun.status, 200, begun.text);
  const there = await fetch(begun.body.data.url, { redirect: 'manual' });
  const { search } = new URL(there.headers.get('location') ?? '');
  await meanwhile?.();
  const cookies = [cookie, cookiesOf(begun)].filter(Boolean).join('; ');
  return callPortal(service, `/auth/callback/oidc${search}`, { headers }, cookies);
}

/** As if the last proof of all sessions of the account were too long ago. */
export async function ageSessions(
  { database }: Pick<TestService, 'database'>,
  email: string,
): Promise<void> {
  await sql`
    update sessions set proven_at = now() - interval '31 minutes'
    where user_id = (select id from users where email = ${email})
  `.execute(database);
}
