/**
 * Serves what stands below an address from an application of its own, which is built when somebody first asks for it:
 * its modules, routes and schemas are then no part of the memory of a service at rest.
 */
import type { FastifyInstance } from 'fastify';

export function defer(
  app: FastifyInstance,
  prefix: string,
  build: () => Promise<FastifyInstance>,
): void {
  let building: Promise<FastifyInstance> | undefined;

  for (const url of [prefix, `${prefix}/*`])
    app.route({
      method: app.supportedMethods,
      url,
      exposeHeadRoute: false,
      schema: { hide: true },
      // Before its body is read, which is the other application's to read.
      onRequest: (request, reply, done) => {
        building ??= build().catch((error: unknown) => {
          // The next one tries again: what was missing, such as a file descriptor, may be there then.
          building = undefined;
          throw error;
        });
        // oxlint-disable-next-line promise/no-callback-in-promise -- a hook of Fastify's knows no other way
        building.then((inner) => hand(inner), done);

        function hand(inner: FastifyInstance): void {
          reply.hijack();
          inner.routing(request.raw, reply.raw);
        }
      },
      handler: () => {
        throw new Error(`${prefix} is answered elsewhere`);
      },
    });
  app.addHook('onClose', async () => {
    await (await building?.catch(() => undefined))?.close();
  });
}
