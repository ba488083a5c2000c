/**
 * Traces of requests, events, deliveries and attempts. Off by default: then this only passes on the trace contexts that
 * publishers send, and the libraries of `otlp-tracing.ts` are not loaded.
 */
import type { Config } from './config.ts';
import type { Logger } from './log.ts';

/** `traceparent` is that of the event. */
export type TracedAttempt = {
  traceparent: string;
  id: string;
  eventId: string;
  event: string;
  webhookId: string;
  trigger: string;
  number: number;
  cycleAttempt: number;
  createdAtMs: number;
};

type AttemptEnd = { statusCode: number | null; error: string | null; verdict: string };

export type RequestSpan = {
  /** Events that are recorded in `handle` belong to the request's trace. */
  run(handle: () => void): void;
  end(statusCode: number): void;
};

export type AttemptSpan = { traceparent: string; end(result: AttemptEnd): void };

/** `traceparent` is what to store with the event. The database makes its id, with which the span ends. */
export type EventSpan = { traceparent: string | null; end(id: string): void };

export type Tracing = {
  startRequest(request: { method: string; route: string; traceparent: string | null }): RequestSpan;
  recordEvent(name: string): EventSpan;
  startAttempt(attempt: TracedAttempt): AttemptSpan;
  /** Sends what is left. */
  stop(): Promise<void>;
};

let tracing: Tracing | null = null;

/** Loads the libraries if OTEL_EXPORTER_OTLP_ENDPOINT is set. */
export async function startTracing(
  { tracing: settings }: Pick<Config, 'tracing'>,
  log: Logger,
): Promise<void> {
  if (!settings.endpoint || tracing) return;
  const { createOtlpTracing } = await import('./otlp-tracing.ts');
  tracing = createOtlpTracing({ ...settings, endpoint: settings.endpoint }, log);
}

export async function stopTracing(): Promise<void> {
  await tracing?.stop();
}

export const activeTracing = (): Tracing | null => tracing;

/** `given` is the trace context of the event's publisher. */
export function traceEvent(name: string, given: string | null = null): EventSpan {
  return tracing?.recordEvent(name) ?? { traceparent: given, end() {} };
}

/** Null if the event has no trace context. Without tracing, the receiver gets the one that the event has. */
export function traceAttempt(
  attempt: Omit<TracedAttempt, 'traceparent'> & { traceparent: string | null },
): AttemptSpan | null {
  const { traceparent } = attempt;
  if (traceparent === null) return null;
  return tracing?.startAttempt({ ...attempt, traceparent }) ?? { traceparent, end() {} };
}

const traceparentPattern = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The `traceparent` header of a request, or null if it is absent or invalid. */
export function readTraceparent(headers: Record<string, unknown>): string | null {
  const { traceparent } = headers;
  return typeof traceparent === 'string' && traceparentPattern.test(traceparent)
    ? traceparent
    : null;
}
