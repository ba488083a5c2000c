/** /docs: the API reference, shown with Scalar from this server alone. */
import helmet from '@fastify/helmet';
import scalar from '@scalar/fastify-api-reference';
import type { FastifyInstance } from 'fastify';

/** Scalar styles its page and starts itself inline; nothing may come from, or go to, another host. */
const contentSecurityPolicy = {
  useDefaults: false,
  directives: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'", "'unsafe-inline'"],
    styleSrc: ["'self'", "'unsafe-inline'"],
    imgSrc: ["'self'", 'data:', 'blob:'],
    fontSrc: ["'self'", 'data:'],
    connectSrc: ["'self'"],
    baseUri: ["'none'"],
    formAction: ["'none'"],
    frameAncestors: ["'none'"],
  },
};

export async function registerDocs(app: FastifyInstance): Promise<void> {
  await app.register(async (docs) => {
    await docs.register(helmet, { contentSecurityPolicy });
    await docs.register(scalar, {
      routePrefix: '/docs',
      configuration: {
        url: '/api/v1/openapi.json',
        title: 'API reference',
        withDefaultFonts: false,
        telemetry: false,
        hideClientButton: true,
        agent: { disabled: true },
      },
    });
  });
}
