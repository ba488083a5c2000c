/** A small OpenID Connect provider on a port of its own: whoever comes is at once the person that the test says. */
import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after } from 'node:test';

type Claims = { sub: string; email?: string; email_verified?: boolean; name?: string };
type Grant = { nonce: string | null; challenge: string | null; claims: Claims };

export type OidcProvider = {
  issuer: string;
  client: { id: string; secret: string };
  /** The settings of a service that knows it. */
  env: Record<string, string>;
  /** The next user to sign in. */
  person: Claims;
  /** Whether the token response has an ID token, as the standard requires. */
  withIdToken: boolean;
};

const signing = { alg: 'RS256', kid: 'test' };

export async function startOidcProvider(): Promise<OidcProvider> {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const grants = new Map<string, Grant>();
  const people = new Map<string, Claims>();
  const provider: OidcProvider = {
    issuer: '',
    client: { id: 'orgdir', secret: randomUUID() },
    env: {},
    person: { sub: 'nobody' },
    withIdToken: true,
  };

  function discover() {
    const { issuer } = provider;
    return {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [signing.alg],
    };
  }

  function authorize(query: URLSearchParams, response: ServerResponse): void {
    const code = randomUUID();
    grants.set(code, {
      nonce: query.get('nonce'),
      challenge: query.get('code_challenge'),
      claims: provider.person,
    });
    const back = new URL(query.get('redirect_uri') ?? '');
    back.searchParams.set('code', code);
    back.searchParams.set('state', query.get('state') ?? '');
    response.writeHead(302, { location: back.href }).end();
  }

  async function token(request: IncomingMessage) {
    const form = new URLSearchParams(await text(request));
    const grant = grants.get(form.get('code') ?? '');
    grants.delete(form.get('code') ?? '');
    const verifier = form.get('code_verifier') ?? '';
    const proven = createHash('sha256').update(verifier).digest('base64url');
    if (!grant || grant.challenge !== proven || !isClient(request, form)) return null;
    const access = randomUUID();
    people.set(access, grant.claims);
    const tokens = { access_token: access, token_type: 'Bearer' };
    return provider.withIdToken ? { ...tokens, id_token: idToken(grant) } : tokens;
  }

  function isClient(request: IncomingMessage, form: URLSearchParams): boolean {
    const { id, secret } = provider.client;
    const basic = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
    return request.headers.authorization === basic || form.get('client_secret') === secret;
  }

  function idToken({ nonce, claims }: Grant): string {
    const now = Math.floor(Date.now() / 1000);
    const said = { iss: provider.issuer, aud: provider.client.id, iat: now, exp: now + 60, nonce };
    const parts = [
      { ...signing, typ: 'JWT' },
      { ...said, ...claims },
    ].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
    const signature = sign('sha256', Buffer.from(parts.join('.')), privateKey);
    return [...parts, signature.toString('base64url')].join('.');
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', provider.issuer);
    if (pathname === '/authorize') return authorize(searchParams, response);
    const key = { ...publicKey.export({ format: 'jwk' }), ...signing, use: 'sig' };
    const access = request.headers.authorization?.slice('Bearer '.length) ?? '';
    const answers: Record<string, () => unknown> = {
      '/token': () => token(request),
      '/userinfo': () => people.get(access),
      '/jwks': () => ({ keys: [key] }),
      '/.well-known/openid-configuration': discover,
    };
    const body = await answers[pathname]?.();
    response
      .writeHead(body ? 200 : 400, { 'content-type': 'application/json' })
      .end(JSON.stringify(body ?? { error: 'invalid_grant' }));
  }

  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  provider.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  provider.env = {
    OIDC_ISSUER_URL: provider.issuer,
    OIDC_CLIENT_ID: provider.client.id,
    OIDC_CLIENT_SECRET: provider.client.secret,
    OIDC_NAME: 'Example Login',
  };
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return provider;
}
