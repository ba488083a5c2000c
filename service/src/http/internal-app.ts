/**
 * The internal listener's application: what a process tells of itself to those who run it. It stands on a port of its
 * own, in every process whatever its roles, and nothing of it is ever on the public port; `app.ts` builds that.
 */
import fastify, { LogController, type FastifyBaseLogger, type FastifyInstance } from 'fastify';
import { errorBody, meta } from '../contract/envelope.ts';
import { ServiceError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { Readiness, ReadinessCheck } from '../system/readiness.ts';
import { answerClientFault } from './client-fault.ts';
import { answerError } from './error-answer.ts';
import { supportAllMethods, watchMethods } from './methods.ts';

export type InternalAppDependencies = { metrics: Metrics; readiness: ReadinessCheck; log: Logger };

/** Nothing here reads a body. */
const bodyBytesMax = 1024;

export function createInternalApp(dependencies: InternalAppDependencies): FastifyInstance {
  const app = createServer(dependencies.log);
  supportAllMethods(app);
  app.setErrorHandler(answerError);
  app.setNotFoundHandler(() => {
    throw new ServiceError('not_found');
  });
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
    done();
  });
  const refuseOtherMethods = watchMethods(app);
  registerMetrics(app, dependencies);
  registerProbes(app, dependencies);
  refuseOtherMethods();
  return app;
}

function createServer(log: FastifyBaseLogger): FastifyInstance {
  return fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (logger) => logger,
    bodyLimit: bodyBytesMax,
    frameworkErrors: (error, request, reply) => {
      answerError(error, request, reply);
    },
    clientErrorHandler: answerClientFault,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    requestTimeout: 30_000,
    routerOptions: { maxParamLength: 200, ignoreTrailingSlash: false },
  });
}

function registerMetrics(app: FastifyInstance, { metrics }: InternalAppDependencies): void {
  app.get('/metrics', async (_request, reply) => {
    const text = await metrics.render();
    return reply.type(metrics.contentType).send(text);
  });
}

function registerProbes(app: FastifyInstance, { readiness }: InternalAppDependencies): void {
  // That it answers is the answer: a database that is away is no reason to start the process anew.
  app.get('/livez', async () => ({ success: true, data: { live: true }, meta }));
  app.get('/readyz', async (_request, reply) => {
    const state = await readiness.check();
    if (state.kind === 'ready') return { success: true, data: { ready: true }, meta };
    // Not thrown: a probe asks every few seconds, and what it hears is no failure of the request's.
    const { kind: reason, ...more } = state;
    return reply
      .code(503)
      .header('retry-after', '5')
      .send(errorBody('unavailable', unready[reason], { reason, ...more }));
  });
}

const unready: Record<Exclude<Readiness['kind'], 'ready'>, string> = {
  outdated: 'The database lacks migrations that this version needs.',
  unreachable: 'The database does not answer.',
  stopping: 'The process is stopping.',
};
