/**
 * The pages of the developer portal: one HTML file for every address below /profile/developer, and what it loads. The
 * pages are built from `portal/` when npm installs. Whoever is signed in is told to the page as it is served, so that its
 * first screen waits for one request less; all else comes from `/portal/api`.
 */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { SignIn } from '../sign-in/sign-in.ts';
import { toPortalSession } from './portal/portal-session.ts';
import { signInOptionsOf } from './portal/sign-in-options.ts';

export type PortalPagesDependencies = { signIn: SignIn; publicUrl: string; serviceName: string };

const portalPagesPrefix = '/profile/developer';

const built = fileURLToPath(new URL('../../../portal/dist/', import.meta.url));
const methods = ['GET', 'HEAD'];

export async function registerPortalPages(
  app: FastifyInstance,
  dependencies: PortalPagesDependencies,
): Promise<void> {
  const html = await readFile(`${built}index.html`, 'utf8').catch(() => null);
  const show = html === null ? showMissing : createShow(html, dependencies);
  for (const url of [portalPagesPrefix, `${portalPagesPrefix}/*`])
    app.route({
      method: methods,
      url,
      exposeHeadRoute: false,
      schema: { hide: true },
      handler: show,
    });
  if (html === null) return;
  await app.register(fastifyStatic, {
    root: `${built}assets`,
    prefix: `${portalPagesPrefix}/assets/`,
    preCompressed: true,
    index: false,
    // Their names change with their content.
    immutable: true,
    maxAge: '365d',
  });
}

type Show = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

function createShow(html: string, dependencies: PortalPagesDependencies): Show {
  const { signIn, publicUrl, serviceName } = dependencies;
  const basePath = new URL(publicUrl).pathname.replace(/\/$/, '');
  const page = html.replaceAll('"./assets/', `"${basePath}${portalPagesPrefix}/assets/`);
  return async (request, reply) => {
    const session = await readSession(signIn, request, reply);
    const nonce = randomBytes(16).toString('base64');
    const data = { serviceName, basePath, session, signInOptions: signInOptionsOf(signIn) };
    const isFirstScreen = new URL(request.url, publicUrl).pathname === portalPagesPrefix;
    const head = [
      // What the first screen asks for, so that it comes together with the script.
      session && isFirstScreen
        ? `<link rel="preload" as="fetch" crossorigin href="${basePath}/portal/api/overview">`
        : '',
      `<script id="page-data" type="application/json" nonce="${nonce}">${toInlineJson(data)}</script>`,
    ];
    return reply
      .headers(headersOf(nonce))
      .type('text/html; charset=utf-8')
      .send(page.replace('</head>', () => `${head.join('')}</head>`));
  };
}

/** Null: nobody is signed in. Undefined: the database cannot tell right now; the page asks again. */
async function readSession(signIn: SignIn, request: FastifyRequest, reply: FastifyReply) {
  const { cookie } = request.headers;
  try {
    const { signedIn, cookies } = await signIn.read(
      new Headers(cookie === undefined ? {} : { cookie }),
    );
    for (const each of cookies) reply.header('set-cookie', each);
    if (!signedIn) return null;
    return toPortalSession(signedIn);
  } catch {
    return undefined;
  }
}

/** `</script>` in a name would end the element; these are the same JSON. */
function toInlineJson(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll('<', '\\u003c')
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029');
}

/** Nothing comes from, or goes to, another host; nothing inline runs. Styles that scripts add carry the nonce. */
function headersOf(nonce: string): Record<string, string> {
  const policy = {
    'default-src': "'none'",
    'script-src': "'self'",
    'style-src': `'self' 'nonce-${nonce}'`,
    'img-src': "'self' data:",
    'connect-src': "'self'",
    'base-uri': "'none'",
    'form-action': "'self'",
    'frame-ancestors': "'none'",
  };
  return {
    'content-security-policy': Object.entries(policy)
      .map((directive) => directive.join(' '))
      .join('; '),
    'cache-control': 'no-store',
    // The address of the page for a first account holds a secret.
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  };
}

const showMissing: Show = async (_request, reply) =>
  reply
    .code(503)
    .headers({ 'cache-control': 'no-store', 'retry-after': '60' })
    .type('text/plain; charset=utf-8')
    .send(
      'The pages of the portal are not built: run `npm run build:portal` and start the service again.\n',
    );
