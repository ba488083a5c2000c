/** What the rest of the service traces, and the spans that it gets. `tracing.ts` hands them out, `otlp-tracing.ts` makes them. */
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

export type TracedRequest = {
  method: string;
  /** One that the service does not know, in the place of `method`. */
  otherMethod: string | null;
  route: string;
  traceparent: string | null;
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
  startRequest(request: TracedRequest): RequestSpan;
  recordEvent(name: string): EventSpan;
  startAttempt(attempt: TracedAttempt): AttemptSpan;
  /** Sends what is left. */
  stop(): Promise<void>;
};
