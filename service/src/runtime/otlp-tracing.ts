/** Tracing with OpenTelemetry's libraries, which send spans by OTLP over HTTP, as JSON. See docs/decisions/0009-metrics-usage-mail.md. */
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type SpanContext,
  type Tracer,
} from '@opentelemetry/api';
import { setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type IdGenerator,
} from '@opentelemetry/sdk-trace';
import type { Logger } from './log.ts';
import type {
  AttemptSpan,
  EventSpan,
  RequestSpan,
  TracedAttempt,
  TracedRequest,
  Tracing,
} from './tracing-types.ts';
import { version } from './version.ts';

/** While spans fail, each batch of them fails, of which a busy process sends dozens per second. */
const logEveryMs = 60_000;

type Settings = { endpoint: string; ratio: number };

export class OtlpTracing implements Tracing {
  readonly #log: Logger;
  readonly #ids = new SpanIds();
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;
  readonly #requests = new AsyncLocalStorage<Context>();
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(settings: Settings, log: Logger) {
    this.#log = log;
    setGlobalErrorHandler((error) => this.#logFailure(error));
    this.#provider = createProvider(settings, this.#ids);
    this.#tracer = this.#provider.getTracer('orgdir', version);
  }

  startRequest({ method, otherMethod, route, traceparent }: TracedRequest): RequestSpan {
    const parent = traceparent === null ? ROOT_CONTEXT : contextOf(parse(traceparent));
    // https://opentelemetry.io/docs/specs/semconv/http/http-spans/ names these so.
    const attributes = {
      'http.route': route,
      'http.request.method': otherMethod === null ? method : '_OTHER',
      ...(otherMethod !== null && { 'http.request.method_original': otherMethod }),
    };
    const options = { kind: SpanKind.SERVER, attributes };
    const name = `${otherMethod === null ? method : 'HTTP'} ${route}`;
    const span = this.#tracer.startSpan(name, options, parent);
    return {
      run: (handle) => this.#requests.run(trace.setSpan(parent, span), handle),
      end(statusCode) {
        span.setAttribute('http.response.status_code', statusCode);
        if (statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      },
    };
  }

  recordEvent(name: string): EventSpan {
    const parent = this.#requests.getStore() ?? ROOT_CONTEXT;
    const span = this.#tracer.startSpan(`event ${name}`, { kind: SpanKind.PRODUCER }, parent);
    return {
      traceparent: format(span.spanContext()),
      end: (id) => span.setAttribute('orgdir.event.id', id).end(),
    };
  }

  startAttempt(attempt: TracedAttempt): AttemptSpan {
    const event = parse(attempt.traceparent);
    const spanId = deliverySpanId(attempt);
    const attributes = { ...attributesOf(attempt), 'orgdir.attempt.number': attempt.number };
    const span = this.#tracer.startSpan(
      `attempt ${attempt.event}`,
      { kind: SpanKind.CLIENT, attributes },
      contextOf({ ...event, spanId }),
    );
    return {
      traceparent: format(span.spanContext()),
      end: ({ statusCode, error, verdict }) => {
        if (statusCode !== null) span.setAttribute('http.response.status_code', statusCode);
        if (error !== null) span.setAttribute('error.type', error);
        if (verdict !== 'succeeded') span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
        if (verdict !== 'retry') this.#writeDelivery(attempt, spanId, verdict);
      },
    };
  }

  /** Fails if the collector refuses the last spans. */
  async stop(): Promise<void> {
    await this.#provider.shutdown().catch((error: unknown) => this.#logFailure(error));
  }

  /** A delivery ends once per cycle, so its span is written then, as the parent that its attempts have named. */
  #writeDelivery(attempt: TracedAttempt, spanId: string, verdict: string): void {
    this.#ids.next = spanId;
    const { event, createdAtMs: startTime } = attempt;
    const attributes = { ...attributesOf(attempt), 'orgdir.delivery.status': verdict };
    const options = { kind: SpanKind.CONSUMER, startTime, attributes };
    this.#tracer
      .startSpan(`delivery ${event}`, options, contextOf(parse(attempt.traceparent)))
      .end();
  }

  #logFailure(error: unknown): void {
    if (performance.now() - this.#loggedAt < logEveryMs) return;
    this.#loggedAt = performance.now();
    const reason = error instanceof Error ? error.message : 'the collector refused them';
    this.#log.warn({ reason }, 'traces.failed');
  }
}

function createProvider({ endpoint, ratio }: Settings, idGenerator: IdGenerator): TracerProvider {
  return new TracerProvider({
    // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES come last, so they count.
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'orgdir', 'service.version': version }))
      .merge(detectResources({ detectors: [envDetector] })),
    idGenerator,
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    spanProcessors: [
      new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url: tracesUrl(endpoint) }) }),
    ],
  });
}

/** Random ids, except that the span of a delivery has the id which other processes know. */
class SpanIds implements IdGenerator {
  next: string | null = null;
  readonly #random = new RandomIdGenerator();

  generateTraceId(): string {
    return this.#random.generateTraceId();
  }

  generateSpanId(): string {
    const { next } = this;
    this.next = null;
    return next ?? this.#random.generateSpanId();
  }
}

/**
 * The same for all attempts of a cycle, in every process: the random end of the delivery's id, with the number of attempts
 * before the cycle in it.
 */
function deliverySpanId({ id, number, cycleAttempt }: TracedAttempt): string {
  const random = BigInt(`0x${id.replaceAll('-', '').slice(16)}`);
  return (random ^ BigInt(number - cycleAttempt)).toString(16).padStart(16, '0');
}

/** Nothing private: no address, body or header, and no URL, which may contain a secret. */
function attributesOf({ id, eventId, webhookId, trigger }: TracedAttempt) {
  return {
    'orgdir.delivery.id': id,
    'orgdir.delivery.trigger': trigger,
    'orgdir.event.id': eventId,
    'orgdir.webhook.id': webhookId,
  };
}

function parse(traceparent: string): SpanContext {
  const [, traceId = '', spanId = '', flags = '00'] = traceparent.split('-');
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}

function format({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

function contextOf(parent: SpanContext): Context {
  return trace.setSpanContext(ROOT_CONTEXT, parent);
}

/** As the specification of OTLP says. */
function tracesUrl(endpoint: string): string {
  return `${endpoint.replace(/\/$/, '')}/v1/traces`;
}
