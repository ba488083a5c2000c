/**
 * Serves /docs, the API reference, with Scalar and without any other host. It is loaded at the first request: its
 * script and modules are a sixth of the memory of an idle service.
 */
import helmet from '@fastify/helmet';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';

/** Scalar needs inline styles and an inline script; the page connects to no other host. */
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

export function registerDocs(app: FastifyInstance, { serviceName }: { serviceName: string }): void {
  let reference: Promise<FastifyInstance> | null = null;

  async function serve(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    reference ??= createReference(serviceName);
    const docs = await reference;
    reply.hijack();
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) reply.raw.setHeader(name, value);
    docs.routing(request.raw, reply.raw);
  }

  for (const url of ['/docs', '/docs/', '/docs/js/scalar.js'])
    app.route({ method: 'GET', url, schema: { hide: true }, handler: serve });
}

/** A separate application, because Fastify accepts no routes after its start. It listens nowhere. */
async function createReference(serviceName: string): Promise<FastifyInstance> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const docs = fastify({ logger: false });
  // HSTS would apply to the whole host, which is the operator's decision.
  await docs.register(helmet, { contentSecurityPolicy, hsts: false });
  await docs.register(scalar, {
    routePrefix: '/docs',
    configuration: {
      url: '/api/v1/openapi.json',
      pageTitle: `${serviceName} API`,
      // Turns off every feature that calls or links to a Scalar host.
      withDefaultFonts: false,
      telemetry: false,
      proxyUrl: '',
      hideClientButton: true,
      showDeveloperTools: 'never',
      mcp: { disabled: true },
      agent: { disabled: true },
    },
  });
  await docs.ready();
  return docs;
}
