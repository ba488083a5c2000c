/** The portal as its pages use it: people who sign up and in, with their cookies, and every answer held against openapi.portal.json. */
import assert from 'node:assert/strict';
import { sql } from '../../src/database/database.ts';
import { checkPortalAnswer } from './openapi-check.ts';
import { send, testPublicUrl, type Answer, type CallOptions, type TestService } from './service.ts';

export type Person = {
  email: string;
  /** What a browser would send to be known. */
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

/** Sends a request that better-auth answers, in its own form. */
export async function callAuth(
  { url }: Pick<TestService, 'url'>,
  path: string,
  options: { json?: unknown; cookie?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const { json, cookie, headers = {} } = options;
  const response = await fetch(`${url}/portal/api/auth${path}`, {
    method: json === undefined ? 'GET' : 'POST',
    redirect: 'manual',
    headers: {
      ...fromPortal,
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...(cookie === undefined ? {} : { cookie }),
      ...headers,
    },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  return {
    status: response.status,
    headers: response.headers,
    body: isJson && text !== '' ? JSON.parse(text) : null,
    text,
  };
}

/** Cookies as a browser would send them back. */
export function cookiesOf({ headers }: Pick<Answer, 'headers'>): string {
  return headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0] ?? '')
    .join('; ');
}

/** The path below `/portal/api/auth` of the last link that was printed for somebody. */
export function printedLink({ printed }: Pick<TestService, 'printed'>, email: string): string {
  const line = printed.findLast((each) => each.includes(`(${email})`));
  const [, path] =
    /: http:\/\/directory\.localhost\/portal\/api\/auth(\S+)$/.exec(line ?? '') ?? [];
  assert.ok(path, `no link was printed for ${email}`);
  return path;
}

/** Signs up, confirms the address with the link on the terminal, and signs in. */
export async function signUp(service: TestService, email: string): Promise<Person> {
  const account = { email, name: email.split('@')[0], password };
  const made = await callAuth(service, '/sign-up/email', { json: account });
  assert.equal(made.status, 200, made.text);
  await callAuth(service, printedLink(service, email));
  return signInAs(service, email);
}

export async function signInAs(service: TestService, email: string): Promise<Person> {
  const signedIn = await callAuth(service, '/sign-in/email', { json: { email, password } });
  assert.equal(signedIn.status, 200, signedIn.text);
  return personOf(service, email, cookiesOf(signedIn));
}

export function personOf(service: TestService, email: string, cookie: string): Person {
  return {
    email,
    credentials: { ...fromPortal, cookie },
    call: (path, options) => callPortal(service, path, options, cookie),
  };
}

/** As if their address had been found not to be theirs, while they are signed in. */
export async function doubt({ database }: Pick<TestService, 'database'>, email: string) {
  await sql`update users set email_verified = false where email = ${email}`.execute(database);
}
