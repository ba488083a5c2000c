/** Tracing with OpenTelemetry's libraries, which send spans by OTLP over HTTP, as JSON. See docs/decisions/0009-metrics-traces-mail.md. */
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type SpanContext,
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
import type { TracedAttempt, Tracing } from './tracing-types.ts';
import { version } from './version.ts';

/** While spans fail, each batch of them fails, of which a busy process sends dozens per second. */
const logEveryMs = 60_000;

type Settings = { endpoint: string; ratio: number };

export function createOtlpTracing({ endpoint, ratio }: Settings, log: Logger): Tracing {
  let loggedAt = Number.NEGATIVE_INFINITY;

  function logFailure(error: unknown): void {
    if (performance.now() - loggedAt < logEveryMs) return;
    loggedAt = performance.now();
    const reason = error instanceof Error ? error.message : 'the collector refused them';
    log.warn({ reason }, 'traces.failed');
  }

  setGlobalErrorHandler(logFailure);
  const ids = new SpanIds();
  const provider = new TracerProvider({
    // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES come last, so they count.
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'orgdir', 'service.version': version }))
      .merge(detectResources({ detectors: [envDetector] })),
    idGenerator: ids,
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    spanProcessors: [
      new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url: tracesUrl(endpoint) }) }),
    ],
  });
  const tracer = provider.getTracer('orgdir', version);
  const requests = new AsyncLocalStorage<Context>();

  /** A delivery ends once per cycle, so its span is written then, as the parent that its attempts have named. */
  function writeDelivery(attempt: TracedAttempt, spanId: string, verdict: string): void {
    ids.next = spanId;
    const { event, createdAtMs: startTime } = attempt;
    const attributes = { ...attributesOf(attempt), 'orgdir.delivery.status': verdict };
    tracer
      .startSpan(
        `delivery ${event}`,
        { kind: SpanKind.CONSUMER, startTime, attributes },
        contextOf(parse(attempt.traceparent)),
      )
      .end();
  }

  return {
    startRequest({ method, route, traceparent }) {
      const parent = traceparent === null ? ROOT_CONTEXT : contextOf(parse(traceparent));
      const attributes = { 'http.request.method': method, 'http.route': route };
      const span = tracer.startSpan(
        `${method} ${route}`,
        { kind: SpanKind.SERVER, attributes },
        parent,
      );
      return {
        run: (handle) => requests.run(trace.setSpan(parent, span), handle),
        end(statusCode) {
          span.setAttribute('http.response.status_code', statusCode);
          if (statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
          span.end();
        },
      };
    },
    recordEvent(name) {
      const span = tracer.startSpan(
        `event ${name}`,
        { kind: SpanKind.PRODUCER },
        requests.getStore() ?? ROOT_CONTEXT,
      );
      return {
        traceparent: format(span.spanContext()),
        end: (id) => span.setAttribute('orgdir.event.id', id).end(),
      };
    },
    startAttempt(attempt) {
      const event = parse(attempt.traceparent);
      const spanId = deliverySpanId(attempt);
      const attributes = { ...attributesOf(attempt), 'orgdir.attempt.number': attempt.number };
      const span = tracer.startSpan(
        `attempt ${attempt.event}`,
        { kind: SpanKind.CLIENT, attributes },
        contextOf({ ...event, spanId }),
      );
      return {
        traceparent: format(span.spanContext()),
        end({ statusCode, error, verdict }) {
          if (statusCode !== null) span.setAttribute('http.response.status_code', statusCode);
          if (error !== null) span.setAttribute('error.type', error);
          if (verdict !== 'succeeded') span.setStatus({ code: SpanStatusCode.ERROR });
          span.end();
          if (verdict !== 'retry') writeDelivery(attempt, spanId, verdict);
        },
      };
    },
    // Fails if the collector refuses the last spans.
    stop: () => provider.shutdown().catch(logFailure),
  };
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
