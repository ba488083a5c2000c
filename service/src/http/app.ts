/** Builds the HTTP application: every plugin and route, in order. `main.ts` makes it listen. */
import cors from '@fastify/cors';
import fastify, { type FastifyInstance } from 'fastify';
import type { Config } from '../settings/config.ts';
import { ServiceError } from '../errors.ts';
import { registerAdmission, type AdmitDependencies } from './admission/admit.ts';
import { countConnections, countUnrouted } from './count-requests.ts';
import { endStalledResponses } from './connections/end-stalled.ts';
import { registerClient } from './site/client.ts';
import { handleClientError } from './connections/client-error.ts';
import { meetExpectations } from './connections/expect.ts';
import { lingerAfterLastResponse } from './connections/linger.ts';
import { runOneAtATime } from './connections/one-at-a-time.ts';
import { sendError } from './responses/send-error.ts';
import { readJsonBodies } from './json-bodies.ts';
import {
  applyDefaults,
  serverOptions,
  traceRequests,
  type ServerDependencies,
} from './apply-defaults.ts';
import { trackMethods } from './methods.ts';
import { registerOpenApi, registerOpenApiRoute } from './openapi/openapi.ts';
import { registerDirectory, type DirectoryDependencies } from './v1/directory.ts';
import { registerSite, showErrorPages, type SiteDependencies } from './site/site.ts';
import type { OperatorDependencies } from './operator/surface.ts';
import type { PortalDependencies } from './portal/api.ts';
import { registerStatus } from './v1/status.ts';
import { registerEvents, type EventDependencies } from './v1/events.ts';
import { openSurface } from './v1/surface.ts';
import { registerWebhooks } from './v1/webhooks.ts';
import { createAppLimits, type WebhookDependencies } from './webhooks/operation.ts';

type AppDependencies = Pick<Config, 'publicUrl' | 'serviceName' | 'trustProxy'> &
  AdmitDependencies &
  DirectoryDependencies &
  SiteDependencies &
  EventDependencies &
  Omit<WebhookDependencies, 'appLimits'> &
  Pick<PortalDependencies, 'signIn'> &
  OperatorDependencies &
  ServerDependencies & { version: string };

/** docs/reference/errors-and-limits.md#public-api */
export const bodyBytesMax = 64 * 1024;
export const requestTimeoutMs = 30_000;

/**
 * Every header that `/api/v1` sends: a page on another origin may read them all. A string, because an array would be
 * joined at every request.
 */
const exposedHeaders = [
  'ETag',
  'X-Request-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-RateLimit-Scope',
  'X-Next-Cursor',
  'Retry-After',
  'Idempotent-Replayed',
  'WWW-Authenticate',
  'Allow',
  'Location',
  'Cache-Control',
  'Content-Encoding',
  'Content-Length',
  'Content-Type',
  'Date',
  'X-Content-Type-Options',
  'X-Accel-Buffering',
  'Accept-Encoding',
  'Vary',
  'Connection',
  'Keep-Alive',
].join(', ');

export async function createApp(given: AppDependencies): Promise<FastifyInstance> {
  const dependencies = { ...given, appLimits: createAppLimits() };
  const app = prepare(createServer(dependencies), dependencies);
  meetExpectations(app);
  runOneAtATime(app);
  lingerAfterLastResponse(app);
  endStalledResponses(app);
  countConnections(app, dependencies);
  await app.register((v1) => registerV1(v1, dependencies), { prefix: '/api/v1' });
  deferPortal(app, dependencies);
  defer(app, ['/docs', '/llms.txt'], () =>
    createInner(dependencies, async (inner) => {
      const { registerDocs } = await import('./site/docs.ts');
      await registerDocs(inner, dependencies);
    }),
  );
  registerSite(app, dependencies);
  registerClient(app, dependencies);
  return app;
}

function deferPortal(app: FastifyInstance, dependencies: PortalDependencies & AppDependencies) {
  defer(app, ['/portal/api'], () =>
    createInner(dependencies, async (inner) => {
      const { registerPortal } = await import('./portal/api.ts');
      const register = (portal: FastifyInstance) => registerPortal(portal, dependencies);
      await inner.register(register, { prefix: '/portal/api' });
    }),
  );
  defer(app, ['/profile/developer', '/profile/operator'], () =>
    createInner(dependencies, async (inner) => {
      const { registerPortalPages } = await import('./site/portal-pages.ts');
      await registerPortalPages(inner, dependencies);
    }),
  );
}

/** An application for what is loaded at its first request. */
async function createInner(
  dependencies: AppDependencies,
  register: (app: FastifyInstance) => Promise<unknown>,
): Promise<FastifyInstance> {
  const app = prepare(createServer(dependencies), dependencies);
  await register(app);
  await app.ready();
  return app;
}

/** The settings that all routes of the public port share. */
function prepare(app: FastifyInstance, dependencies: SiteDependencies): FastifyInstance {
  traceRequests(app, { fromCaller: false });
  applyDefaults(app);
  showErrorPages(app, dependencies);
  readJsonBodies(app);
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    // axios labels a POST without a body as a form.
    if (request.headers['content-length'] === '0') delete request.headers['content-type'];
    done();
  });
  return app;
}

function createServer(dependencies: AppDependencies): FastifyInstance {
  const { trustProxy } = dependencies;
  return fastify({
    ...serverOptions(dependencies),
    bodyLimit: bodyBytesMax,
    trustProxy: trustProxy.length > 0 ? trustProxy : false,
    frameworkErrors: (error, request, reply) => {
      countUnrouted(request, reply);
      reply
        .headers({ 'x-request-id': request.id, 'x-content-type-options': 'nosniff' })
        .header('access-control-allow-origin', '*')
        .header('access-control-expose-headers', exposedHeaders);
      sendError(error, request, reply);
    },
    clientErrorHandler: handleClientError({
      crossOrigin: true,
      arrivesWithin: `${requestTimeoutMs / 1_000} seconds`,
    }),
    requestTimeout: requestTimeoutMs,
    routerOptions: { maxParamLength: 200, ignoreTrailingSlash: false },
  });
}

type V1Dependencies = AppDependencies & Pick<WebhookDependencies, 'appLimits'>;

async function registerV1(v1: FastifyInstance, dependencies: V1Dependencies): Promise<void> {
  await v1.register(cors, {
    origin: '*',
    methods: ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'OPTIONS'],
    allowedHeaders: [
      'Authorization',
      'X-API-Key',
      'Content-Type',
      'If-None-Match',
      'Last-Event-ID',
      'Idempotency-Key',
      'X-Request-Id',
    ],
    exposedHeaders,
    maxAge: 86_400,
    strictPreflight: false,
  });
  const rejectOtherMethods = trackMethods(v1, { crossOrigin: true });
  registerAdmission(v1, dependencies);
  v1.setNotFoundHandler(() => {
    throw new ServiceError('not_found');
  });
  await registerOpenApi(v1, dependencies);
  registerStatus(v1, dependencies);
  registerOpenApiRoute(v1, 'The API and its webhooks', openSurface);
  registerDirectory(v1, dependencies);
  registerEvents(v1, dependencies);
  registerWebhooks(v1, dependencies);
  rejectOtherMethods();
}

/** Serves prefixes from a separate application, which is built at the first request to save memory until then. */
export function defer(
  app: FastifyInstance,
  prefixes: string[],
  build: () => Promise<FastifyInstance>,
): void {
  let building: Promise<FastifyInstance> | undefined;

  for (const url of prefixes.flatMap((prefix) => [prefix, `${prefix}/*`]))
    app.route({
      method: app.supportedMethods,
      url,
      exposeHeadRoute: false,
      schema: { hide: true },
      // Runs before the body is read, because the other application reads it.
      onRequest: (request, reply, done) => {
        building ??= build().catch((error: unknown) => {
          // The next request tries again: the cause, such as too few file descriptors, may have passed.
          building = undefined;
          throw error;
        });
        // oxlint-disable-next-line promise/no-callback-in-promise -- a Fastify hook offers no other way
        building.then((inner) => hand(inner), done);

        function hand(inner: FastifyInstance): void {
          reply.hijack();
          inner.routing(request.raw, reply.raw);
        }
      },
      handler: () => {
        throw new Error(`${url} is answered elsewhere`);
      },
    });
  app.addHook('onClose', async () => {
    await (await building?.catch(() => undefined))?.close();
  });
}
