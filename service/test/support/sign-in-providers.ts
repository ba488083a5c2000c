/**
 * GitHub and Discord as their documentation describes them, on one local server with TLS. A process reaches it under their
 * names through a proxy: `env` says how.
 * https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
 * https://docs.discord.com/developers/topics/oauth2
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';

type Provider = 'github' | 'discord';
type Email = { email: string; primary: boolean; verified: boolean };
type Person = { id: number; name?: string | null; emails: Email[]; isEmailPublic?: boolean };

export type SignInProviders = {
  env: Record<string, string>;
  /** The next user to sign in. */
  person: Person;
  /** What the browser does at the provider: returns the address that the provider redirects to. */
  authorize: (url: string) => URL;
};

const tls = (name: string) => new URL(`tls/${name}`, import.meta.url);
/** The authority of the certificate for the providers and for directory.example.org. */
export const providerAuthority = readFileSync(tls('provider-authority.pem'));
export const serverIdentity = {
  key: readFileSync(tls('server-key.pem')),
  cert: readFileSync(tls('providers.pem')),
};
const client = { id: 'client-of-orgdir', secret: 'secret-of-orgdir' };

export async function startSignInProviders(): Promise<SignInProviders> {
  const codes = new Map<string, { provider: Provider; redirectUri: string; person: Person }>();
  const tokens = new Map<string, { provider: Provider; person: Person }>();

  /** Exchanges a code, once. Null: it is wrong. */
  function exchange(provider: Provider, form: URLSearchParams): string | null {
    const grant = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? '');
    const isRight =
      grant?.provider === provider &&
      form.get('client_id') === client.id &&
      form.get('client_secret') === client.secret &&
      form.get('redirect_uri') === grant.redirectUri;
    if (!isRight) return null;
    const token = randomUUID();
    tokens.set(token, { provider, person: grant.person });
    return token;
  }

  function personOf(provider: Provider, { headers }: IncomingMessage): Person | null {
    const [scheme = '', token = ''] = headers.authorization?.split(' ') ?? [];
    const found = scheme.toLowerCase() === 'bearer' ? tokens.get(token) : undefined;
    return found?.provider === provider ? found.person : null;
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const send = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const form = new URLSearchParams(request.method === 'POST' ? await text(request) : '');
    const path = decodeURIComponent(request.url ?? '');
    switch (`${request.method} ${request.headers.host}${path}`) {
      case 'POST github.com/login/oauth/access_token': {
        const token = exchange('github', form);
        // Errors are 200, too.
        const body =
          token === null
            ? {
                error: 'bad_verification_code',
                error_description: 'The code is incorrect or expired.',
              }
            : { access_token: token, scope: 'read:user,user:email', token_type: 'bearer' };
        if (request.headers.accept?.includes('application/json')) return void send(200, body);
        const type = { 'content-type': 'application/x-www-form-urlencoded' };
        return void response
          .writeHead(200, type)
          .end(new URLSearchParams(body as Record<string, string>).toString());
      }
      case 'GET api.github.com/user':
      case 'GET api.github.com/user/emails': {
        if (!request.headers['user-agent'])
          return void send(403, { message: 'Request forbidden by administrative rules.' });
        const person = personOf('github', request);
        if (!person) return void send(401, { message: 'Bad credentials' });
        const visibility = (email: Email) => (email.primary ? 'private' : null);
        if (path === '/user/emails')
          return void send(
            200,
            person.emails.map((each) => ({ ...each, visibility: visibility(each) })),
          );
        const shown = person.isEmailPublic ? person.emails.find(({ primary }) => primary) : null;
        return void send(200, {
          login: `user-${person.id}`,
          id: person.id,
          avatar_url: `https://avatars.githubusercontent.com/u/${person.id}?v=4`,
          name: person.name ?? null,
          email: shown?.email ?? null,
        });
      }
      case 'POST discord.com/api/oauth2/token': {
        const token = exchange('discord', form);
        if (token === null || form.get('grant_type') !== 'authorization_code')
          return void send(400, { error: 'invalid_grant' });
        return void send(200, {
          access_token: token,
          token_type: 'Bearer',
          expires_in: 604_800,
          refresh_token: randomUUID(),
          scope: 'identify email',
        });
      }
      case 'GET discord.com/api/users/@me': {
        const person = personOf('discord', request);
        if (!person) return void send(401, { message: '401: Unauthorized', code: 0 });
        const [email] = person.emails;
        return void send(200, {
          id: String(person.id),
          username: `user${person.id}`,
          discriminator: '0',
          global_name: person.name ?? null,
          avatar: null,
          // Absent without an address.
          ...(email && { email: email.email }),
          verified: email?.verified ?? false,
        });
      }
      default:
        send(404, { message: 'Not Found' });
    }
  }

  const server = createServer(
    serverIdentity,
    (request, response) => void respond(request, response),
  );
  const { port } = await listen(server);
  const proxy = createHttpServer();
  proxy.on('connect', (request, socket) => {
    if (!/^(github\.com|api\.github\.com|discord\.com):443$/.test(request.url ?? '')) {
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
      return;
    }
    const far = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      far.pipe(socket).pipe(far);
    });
    for (const each of [socket, far])
      each.on('error', () => void [socket.destroy(), far.destroy()]);
  });
  const { port: proxyPort } = await listen(proxy);

  const providers: SignInProviders = {
    env: {
      NODE_USE_ENV_PROXY: '1',
      HTTPS_PROXY: `http://127.0.0.1:${proxyPort}`,
      NODE_EXTRA_CA_CERTS: fileURLToPath(tls('provider-authority.pem')),
      GITHUB_CLIENT_ID: client.id,
      GITHUB_CLIENT_SECRET: client.secret,
      DISCORD_CLIENT_ID: client.id,
      DISCORD_CLIENT_SECRET: client.secret,
    },
    person: { id: 1, emails: [] },
    authorize(url) {
      const { host, pathname, searchParams } = new URL(url);
      const provider = host === 'github.com' ? 'github' : 'discord';
      const scopes = searchParams.get('scope')?.split(' ') ?? [];
      const isRight =
        searchParams.get('client_id') === client.id &&
        (provider === 'github'
          ? pathname === '/login/oauth/authorize' && scopes.includes('user:email')
          : host === 'discord.com' &&
            pathname === '/api/oauth2/authorize' &&
            searchParams.get('response_type') === 'code' &&
            scopes.includes('email'));
      if (!isRight) throw new Error(`${url} is refused`);
      const redirectUri = searchParams.get('redirect_uri') ?? '';
      const code = randomUUID();
      codes.set(code, { provider, redirectUri, person: providers.person });
      const back = new URL(redirectUri);
      back.searchParams.set('code', code);
      back.searchParams.set('state', searchParams.get('state') ?? '');
      return back;
    },
  };
  return providers;
}

async function listen(server: ReturnType<typeof createHttpServer>): Promise<AddressInfo> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return server.address() as AddressInfo;
}
