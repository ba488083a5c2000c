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

export async function registerDocs(
  app: FastifyInstance,
  { serviceName }: { serviceName: string },
): Promise<void> {
  await app.register(async (docs) => {
    // Whether this host and all below it answer by TLS alone is its operator's to say, not this page's.
    await docs.register(helmet, { contentSecurityPolicy, hsts: false });
    await docs.register(scalar, {
      routePrefix: '/docs',
      configuration: {
        url: '/api/v1/openapi.json',
        pageTitle: `${serviceName} API`,
        // Everything of Scalar's that would call, or lead to, a host of Scalar's.
        withDefaultFonts: false,
        telemetry: false,
        proxyUrl: '',
        hideClientButton: true,
        showDeveloperTools: 'never',
        mcp: { disabled: true },
        agent: { disabled: true },
      },
    });
  });
}
