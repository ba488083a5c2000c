/** Serves prefixes from a separate application, which is built at the first request to save memory until then. */
import type { FastifyInstance } from 'fastify';

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
