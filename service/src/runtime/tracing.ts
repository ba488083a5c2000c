/**
 * Traces of requests, events, deliveries and attempts. Off by default: then this only passes on the trace contexts that
 * publishers send, and the libraries of `otlp-tracing.ts` are not loaded.
 */
import type { Config } from '../settings/config.ts';
import type { Logger } from './log.ts';
import type { AttemptSpan, EventSpan, TracedAttempt, Tracing } from './tracing-types.ts';

let tracing: Tracing | null = null;

/** Loads the libraries if OTEL_EXPORTER_OTLP_ENDPOINT is set. */
export async function startTracing(
  { tracing: settings }: Pick<Config, 'tracing'>,
  log: Logger,
): Promise<void> {
  if (!settings.endpoint || tracing) return;
  const { OtlpTracing } = await import('./otlp-tracing.ts');
  tracing = new OtlpTracing({ ...settings, endpoint: settings.endpoint }, log);
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
