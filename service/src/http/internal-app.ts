/**
 * Builds the application of the internal listener: health and metrics of the process and, with the role `api`, the
 * internal API of `internal/api.ts`. Every process has it, on a separate port; none of it is ever on the public port,
 * which `app.ts` serves.
 */
import { isIPv4, isIPv6 } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import { envelope, errorBody } from '../contract/envelope.ts';
import { lineBytesMax } from '../directory/import-source.ts';
import type { Readiness, ReadinessCheck } from '../system/health.ts';
import { countConnections, countUnrouted } from './count-requests.ts';
import { handleClientError } from './connections/client-error.ts';
import {
  endStalledResponses,
  bodyArrivesWithinMs,
  endUnfinishedBodies,
  endUnfinishedBody,
} from './connections/end-stalled.ts';
import { meetExpectations } from './connections/expect.ts';
import { lingerAfterLastResponse } from './connections/linger.ts';
import { runOneAtATime } from './connections/one-at-a-time.ts';
import { sendError } from './responses/send-error.ts';
import { type InternalApiDependencies, registerInternalApi } from './internal/api.ts';
import { applyDefaults, serverOptions, type ServerDependencies } from './apply-defaults.ts';
import { trackMethods } from './methods.ts';
import { ServiceError } from '../errors.ts';

export type InternalAppDependencies = ServerDependencies & {
  readiness: ReadinessCheck;
  /** From `Config['internal']`. */
  allowedHosts: ReadonlySet<string>;
  /** Null in a process without the role `api`. */
  api: InternalApiDependencies | null;
};

/**
 * A bulk write is read as fast as it is stored; 100,000 rows take far less than this. Bodies of other requests have less time
 * (`connections/end-stalled.ts`).
 */
export const requestTimeoutMs = 600_000;
/** The longest key of a blueprint: 200 characters, each four percent-encoded bytes. */
const parameterLengthMax = 200 * 4 * 3;

export function createInternalApp(dependencies: InternalAppDependencies): FastifyInstance {
  const app = createServer(dependencies);
  applyDefaults(app);
  meetExpectations(app);
  runOneAtATime(app);
  lingerAfterLastResponse(app);
  endStalledResponses(app);
  countConnections(app, dependencies);
  endUnfinishedBodies(app);
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers({
      'x-request-id': request.id,
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
    requireInternalHost(request.headers.host, dependencies.allowedHosts);
    done();
  });
  const rejectOtherMethods = trackMethods(app, { crossOrigin: false });
  registerMetrics(app, dependencies);
  registerProbes(app, dependencies);
  rejectOtherMethods();
  const { api } = dependencies;
  if (api) void app.register((v1) => registerInternalApi(v1, api), { prefix: '/internal/v1' });
  return app;
}

function createServer(dependencies: InternalAppDependencies): FastifyInstance {
  return fastify({
    ...serverOptions(dependencies),
    // Any row that fits into a line of an import can also be sent alone.
    bodyLimit: lineBytesMax,
    frameworkErrors: (error, request, reply) => {
      countUnrouted(request, reply);
      endUnfinishedBody(request, reply.raw);
      reply.headers({ 'x-request-id': request.id, 'x-content-type-options': 'nosniff' });
      sendError(error, request, reply);
    },
    clientErrorHandler: handleClientError({
      crossOrigin: false,
      arrivesWithin: `${bodyArrivesWithinMs / 1_000} seconds, a bulk write within ${requestTimeoutMs / 60_000} minutes`,
    }),
    requestTimeout: requestTimeoutMs,
    routerOptions: { maxParamLength: parameterLengthMax, ignoreTrailingSlash: false },
  });
}

function registerMetrics(app: FastifyInstance, { metrics }: InternalAppDependencies): void {
  app.get('/metrics', async (_request, reply) => {
    const text = await metrics.render();
    return reply.type(metrics.contentType).send(text);
  });
}

function registerProbes(app: FastifyInstance, { readiness }: InternalAppDependencies): void {
  // Liveness does not depend on the database: restarting the process would not bring the database back.
  app.get('/livez', async () => envelope({ live: true }));
  app.get('/readyz', async (_request, reply) => {
    const state = await readiness.check();
    if (state.kind === 'ready') return envelope({ ready: true });
    // Sent, not thrown: a probe calls every few seconds, and a thrown error would be logged each time.
    const { kind: reason, ...more } = state;
    return reply
      .code(503)
      .header('retry-after', '5')
      .send(errorBody('unavailable', unready[reason], { reason, ...more }));
  });
}

const unready: Record<Exclude<Readiness['kind'], 'ready'>, string> = {
  outdated: 'The database lacks migrations that this version needs.',
  unreachable: 'The database does not respond.',
  loading: 'The search indexes are being loaded after the start.',
  stopping: 'The process is stopping.',
};

/** Throws `forbidden` for a name that is not in `allowedHosts`, which are lower-cased. IP addresses always pass. */
function requireInternalHost(host: string | undefined, allowedHosts: ReadonlySet<string>): void {
  // HTTP/1.1 requires it (`connections/request-target.ts`), and every browser sends it.
  if (host === undefined) return;
  const name = host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
  const [, bracketed] = /^\[(.+)\]$/.exec(name) ?? [];
  const isAddress = bracketed === undefined ? isIPv4(name) : isIPv6(bracketed);
  if (isAddress || allowedHosts.has(name)) return;
  throw new ServiceError(
    'forbidden',
    'The name in the Host header is not allowed. Use the IP address, or add the name to INTERNAL_ALLOWED_HOSTS.',
  );
}
