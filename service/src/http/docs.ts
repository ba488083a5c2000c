/**
 * /docs: the API reference, shown with Scalar from this server alone. It is loaded when somebody first asks
 * for it: its script and its modules are a sixth of the memory of a service at rest.
 */
import helmet from '@fastify/helmet';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';

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

export function registerDocs(app: FastifyInstance, { serviceName }: { serviceName: string }): void {
  let reference: Promise<FastifyInstance> | null = null;

  async function show(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    reference ??= createReference(serviceName);
    const docs = await reference;
    reply.hijack();
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) reply.raw.setHeader(name, value);
    docs.routing(request.raw, reply.raw);
  }

  for (const url of ['/docs', '/docs/', '/docs/js/scalar.js'])
    app.route({ method: 'GET', url, schema: { hide: true }, handler: show });
}

/** An application of its own, because none takes routes after its start. It listens nowhere. */
async function createReference(serviceName: string): Promise<FastifyInstance> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const docs = fastify({ logger: false });
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
  await docs.ready();
  return docs;
}
