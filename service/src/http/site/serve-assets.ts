/** Serves built scripts and styles. Any other request under the prefix gets a 404, even if it is malformed. */
import fastifyStatic from '@fastify/static';
import type { FastifyError, FastifyInstance } from 'fastify';
import { ServiceError } from '../../errors.ts';
import { sendError } from '../responses/send-error.ts';

export async function serveAssets(
  app: FastifyInstance,
  { root, prefix }: { root: string; prefix: string },
): Promise<void> {
  await app.register(async (assets) => {
    assets.setErrorHandler<FastifyError>((error, request, reply) => {
      const isRefused = (error.statusCode ?? 500) < 500;
      return sendError(isRefused ? new ServiceError('not_found') : error, request, reply);
    });
    await assets.register(fastifyStatic, {
      root,
      prefix,
      preCompressed: true,
      index: false,
      acceptRanges: false,
      // Their names change with their content.
      immutable: true,
      maxAge: '365d',
    });
  });
}
