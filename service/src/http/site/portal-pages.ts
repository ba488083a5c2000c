/**
 * Serves the pages of the developer portal: one HTML file for every address under /profile/developer, and its assets. The
 * same file is the operators' console under /profile/operator, if there are operators.
 * npm builds them from `portal/` on installation. The HTML includes the session, which saves the first screen a
 * request; all other data comes from `/portal/api`.
 */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { coalesce } from '../../database/coalesce.ts';
import type { Database } from '../../database/database.ts';
import { ServiceError } from '../../errors.ts';
import type { Config } from '../../settings/config.ts';
import { hasOperators } from '../../sign-in/operators.ts';
import type { SignIn } from '../../sign-in/sign-in.ts';
import { createLimit } from '../admission/admit.ts';
import { inTurnOfAddress } from '../admission/caller-turns.ts';
import { signInOptionsOf, toPortalSession } from '../portal/portal-session.ts';
import { within } from '../within.ts';
import type { Brand } from './brand.ts';
import { basePathOf, renderPolicy, sendNotBuilt, servePage } from './page.ts';
import { serveAssets } from './serve-assets.ts';
import { fontLink, hashOf, schemeScript, tokensOf } from './tokens.ts';

export type PortalPagesDependencies = {
  database: Database;
  signIn: SignIn;
  publicUrl: string;
  brand: Brand;
  version: string;
  rateLimitPerMinute: number;
  webhooks: Pick<Config['webhooks'], 'allowHttp' | 'allowedNetworks'>;
};

const portalPagesPrefix = '/profile/developer';
const consolePrefix = '/profile/operator';
/** Anybody can ask whether there is a console, which changes by command only. */
const consoleBounds = { timeoutMs: 2_000, reuseMs: 1_000 };

const built = fileURLToPath(new URL('../../../../portal/dist/', import.meta.url));
/** A page without its session is better than a late page: it then requests the session itself. */
const sessionWaitMs = 2_000;

export async function registerPortalPages(
  app: FastifyInstance,
  dependencies: PortalPagesDependencies,
  folder = built,
): Promise<void> {
  const html = await readFile(`${folder}index.html`, 'utf8').catch(() => null);
  const handler = html === null ? notBuilt : createPageHandler(html, dependencies);
  const hasConsole = coalesce(() => hasOperators(dependencies.database), consoleBounds);
  const consoleHandler: Handler = async (request, reply) => {
    if (!(await hasConsole())) throw new ServiceError('not_found');
    return handler(request, reply);
  };
  for (const path of ['', '/*']) {
    servePage(app, `${portalPagesPrefix}${path}`, handler);
    // Another method finds no console, as if there were none.
    app.route({
      method: ['GET', 'HEAD'],
      url: `${consolePrefix}${path}`,
      exposeHeadRoute: false,
      schema: { hide: true },
      handler: consoleHandler,
    });
  }
  if (html === null) return;
  await serveAssets(app, { root: `${folder}assets`, prefix: `${portalPagesPrefix}/assets/` });
}

const notBuilt: Handler = async (_request, reply) =>
  sendNotBuilt(
    reply,
    'The pages of the portal are not built: run `npm run build:portal` and start the service again.',
  );

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

function createPageHandler(html: string, dependencies: PortalPagesDependencies): Handler {
  const { signIn, publicUrl, brand, version, webhooks } = dependencies;
  const readSession = createReadSession(dependencies);
  const basePath = basePathOf(publicUrl);
  const logo = `${basePath}/logo?v=${brand.logo.version}`;
  const page = html
    .replaceAll('"./assets/', `"${basePath}${portalPagesPrefix}/assets/`)
    .replace('href="data:,"', `href="${logo}"`);
  const style = tokensOf({ brand, basePath });
  return async (request, reply) => {
    const session = await readSession(request, reply);
    const nonce = randomBytes(16).toString('base64');
    const data = {
      serviceName: brand.name,
      logo,
      version,
      basePath,
      session,
      signInOptions: signInOptionsOf(signIn),
      // Anybody can read the page, so it does not name the networks.
      webhookUrls: {
        allowsHttp: webhooks.allowHttp,
        allowsNetworks: webhooks.allowedNetworks.length > 0,
      },
    };
    const isFirstScreen = new URL(request.url, publicUrl).pathname === portalPagesPrefix;
    const head = [
      `${fontLink({ basePath })}<style nonce="${nonce}">${style}</style><script>${schemeScript}</script>`,
      // Preloads the data of the first screen, so that it arrives together with the script.
      ...(session && session.missingFactor === null && isFirstScreen
        ? ['overview', 'apps'].map(
            (path) =>
              `<link rel="preload" as="fetch" crossorigin href="${basePath}/portal/api/${path}">`,
          )
        : []),
      `<script id="page-data" type="application/json" nonce="${nonce}">${toInlineJson(data)}</script>`,
    ];
    return reply
      .headers(headersOf(nonce))
      .type('text/html; charset=utf-8')
      .send(page.replace('</head>', () => `${head.join('')}</head>`));
  };
}

type Session = ReturnType<typeof toPortalSession> | null | undefined;

/**
 * Null: nobody is signed in. Undefined: unknown, because the database is too slow or this address has sent too many
 * requests; the page then requests the session itself.
 */
function createReadSession({
  signIn,
  rateLimitPerMinute,
}: PortalPagesDependencies): (request: FastifyRequest, reply: FastifyReply) => Promise<Session> {
  const limit = createLimit(rateLimitPerMinute);

  async function read(cookie: string, reply: FastifyReply): Promise<Session> {
    const { signedIn, cookies } = await signIn.read(cookie);
    // The page may have been sent without waiting for this.
    if (!reply.sent) for (const each of cookies) reply.header('set-cookie', each);
    return signedIn && toPortalSession(signedIn);
  }

  return async (request, reply) => {
    const { cookie } = request.headers;
    if (cookie === undefined) return null;
    if (limit(request, reply, null)) return undefined;
    const reading = inTurnOfAddress(request, () => read(cookie, reply));
    return within(sessionWaitMs, reading);
  };
}

/** `</script>` in a name would end the element; the escaped text is the same JSON. */
function toInlineJson(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll('<', '\\u003c')
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029');
}

/** Pages connect to no other host, and run no inline script but that of the colour scheme. Styles that scripts add carry the nonce. */
function headersOf(nonce: string): Record<string, string> {
  const policy = {
    'default-src': "'none'",
    'script-src': `'self' ${hashOf(schemeScript)}`,
    'style-src': `'self' 'nonce-${nonce}'`,
    'img-src': "'self' data:",
    'font-src': "'self'",
    'connect-src': "'self'",
    'base-uri': "'none'",
    'form-action': "'self'",
    'frame-ancestors': "'none'",
  };
  return {
    'content-security-policy': renderPolicy(policy),
    'cache-control': 'no-store',
    // The address of the page for a first account holds a secret, which a referrer would leak.
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  };
}
