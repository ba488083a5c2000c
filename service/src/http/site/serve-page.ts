/** Serves one address of the site to GET and HEAD, and responds with 405 to other methods. */
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { rejectOtherMethods } from '../methods.ts';

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;
type Checks = Pick<RouteOptions, 'onRequest' | 'preValidation' | 'schema'>;

export function servePage(
  app: FastifyInstance,
  url: string,
  handler: Handler,
  { schema, ...hooks }: Checks = {},
): void {
  rejectOtherMethods(app, url, new Set(['GET', 'HEAD']), false);
  app.route({
    method: ['GET', 'HEAD'],
    url,
    exposeHeadRoute: false,
    schema: { ...schema, hide: true },
    ...hooks,
    handler,
  });
}

/** `text`: what is not built, and how to build it. */
export function sendNotBuilt(reply: FastifyReply, text: string): FastifyReply {
  return reply
    .code(503)
    .headers({ 'cache-control': 'no-store', 'retry-after': '60' })
    .type('text/plain; charset=utf-8')
    .send(`${text}\n`);
}
