/**
 * The metrics of a process, for Prometheus. Each call of `createMetrics` has a separate registry, so that two services
 * in one process do not share metrics. `http/internal-app.ts` serves them.
 */
import {
  AggregatorRegistry,
  collectDefaultMetrics,
  Counter,
  Gauge,
  Histogram,
  Registry,
  type MetricObjectWithValues,
  type MetricValue,
} from 'prom-client';
import { durationBuckets, RequestCounts, type OperationCounts } from './request-counts.ts';

/** The result of an attempt: the class of the response's status, or the error that prevented a response. */
export type OutcomeClass =
  | 'succeeded'
  | '3xx'
  | '4xx'
  | '5xx'
  | 'dns'
  | 'connect'
  | 'tls'
  | 'timeout'
  | 'blocked'
  | 'reset'
  | 'interrupted';

export type Metrics = ReturnType<typeof createMetrics>;

export type ProcessMetrics = MetricObjectWithValues<MetricValue<string>>[];

type SyncKind = 'blueprints' | 'chat';

const signInMethods = ['password', 'provider', 'passkey', 'second_factor'] as const;
export type SignInMethod = (typeof signInMethods)[number];
const signInOutcomes = ['succeeded', 'failed'] as const;
type SignInOutcome = (typeof signInOutcomes)[number];

/** The queue of all processes together. Counts stop at a limit; see `webhooks/queue/queue-state.ts`. */
export type QueueState = {
  due: number;
  oldestDueSeconds: number;
  pending: number;
  leased: number;
  eventsWaiting: number;
  oldestEventSeconds: number;
  /** Rows that were set aside, by stage (`events/set-aside.ts`). */
  setAside: Record<string, number>;
  /** Those that retention drops within a day. */
  setAsideExpiring: number;
};

/** From a nearby receiver to the longest deadline that can be configured. */
const durationBucketsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30];
/** Up to the size of one transaction: a claim takes at most 256 deliveries, and 512 attempts are recorded together. */
const batchBuckets = [1, 2, 5, 10, 20, 50, 100, 128, 200, 256, 512];

/** The timer that measures the lag of the event loop. At the default of 10 ms it took a third of an idle process's CPU. */
const lagTimerMs = 100;

export function createMetrics() {
  const registry = new Registry();
  // The same in all processes, so worker processes do not report them.
  const shared = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: lagTimerMs });
  let collectQueue: (() => Promise<void>) | undefined;
  let readWorkers: (() => Promise<ProcessMetrics[]>) | undefined;
  return {
    ...createAttemptMetrics(registry),
    ...createBatchMetrics(registry),
    ...createOutcomeMetrics(registry),
    ...createTotals(registry),
    ...createReaders(registry),
    ...createSharedReaders(shared),
    ...createHttpMetrics(registry),
    /** Sets the functions that read the queue at a scrape, and that resolve while the database answers at all. */
    queue(read: () => Promise<QueueState>, ping: () => Promise<unknown>): void {
      collectQueue = createQueueMetrics(shared, read, ping);
    },
    /** Sets the function that reads the metrics of the worker processes that this process started. */
    workers: (read: () => Promise<ProcessMetrics[]>) => void (readWorkers = read),
    /** The media type of what `render` returns. */
    contentType: registry.contentType,
    /** All metrics in Prometheus' text format, with those of the worker processes. */
    async render(): Promise<string> {
      await collectQueue?.();
      const all = Registry.merge([registry, shared]);
      if (!readWorkers) return all.metrics();
      return joinMetrics([await all.getMetricsAsJSON(), ...(await readWorkers())]).metrics();
    },
    /** The metrics of this process alone, as worker process `number`; without those that all processes share. */
    async ofWorker(number: number): Promise<ProcessMetrics> {
      registry.setDefaultLabels({ worker: String(number) });
      return registry.getMetricsAsJSON();
    },
  };
}

/** Sets functions that read from this process at a scrape. */
function createReaders(registry: Registry) {
  return {
    inFlight: (read: () => number) =>
      registerGauge(registry, {
        name: 'orgdir_delivery_attempts_in_flight',
        help: 'Attempts in progress in this process.',
        read: () => [[{}, read()]],
      }),
    eventStreams: (read: () => number) =>
      registerGauge(registry, {
        name: 'orgdir_event_streams',
        help: 'Open streams of events in this process.',
        read: () => [[{}, read()]],
      }),
    /** How often a standby has become the primary, and how many other hosts accept writes. */
    primary(read: () => { moves: number; others: number }) {
      registerCounter(registry, {
        name: 'orgdir_database_moves_total',
        help: 'How often this process has moved to another host, which was promoted.',
        read: () => [[{}, read().moves]],
      });
      registerGauge(registry, {
        name: 'orgdir_database_other_primaries',
        help: 'Other hosts of the setting that accept writes: two servers believe that they are the primary.',
        read: () => [[{}, read().others]],
      });
    },
  };
}

/** Sets functions that read from the database at a scrape. */
function createSharedReaders(shared: Registry) {
  return {
    /** For how many seconds a day has been past retention that nothing needs. */
    retention: (read: () => Promise<number>) =>
      registerGauge(shared, {
        name: 'orgdir_retention_overdue_seconds',
        help: 'For how long the oldest day of history has been past retention. 0 if there is none, or if pending deliveries need it.',
        read: async () => [[{}, await read()]],
      }),
    expiringSecrets: (read: () => Promise<number>) =>
      registerGauge(shared, {
        name: 'orgdir_webhook_secrets_expiring',
        help: 'Active webhooks whose previous secret expires soon.',
        read: async () => [[{}, await read()]],
      }),
    /** By kind. */
    expiringKeys: (read: () => Promise<Record<string, number>>) =>
      registerGauge(shared, {
        name: 'orgdir_keys_in_use_expiring',
        help: 'API keys that were used within a day and expire soon, by kind.',
        labelNames: ['kind'],
        read: async () => Object.entries(await read()).map(([kind, keys]) => [{ kind }, keys]),
      }),
    /** When each sync with a schedule last succeeded. */
    lastSyncs: (read: () => Promise<{ kind: SyncKind; at: Date }[]>) =>
      registerGauge(shared, {
        name: 'orgdir_sync_last_success_timestamp_seconds',
        help: 'When the sync, which has a schedule here, last succeeded in any process, in seconds since 1970. 0 if it never has.',
        labelNames: ['kind'],
        read: async () => (await read()).map(({ kind, at }) => [{ kind }, at.getTime() / 1000]),
      }),
  };
}

/** Labels separate the processes: a sum over them would drop, which reads as a reset, whenever one is restarted. */
function joinMetrics(processes: ProcessMetrics[]): Registry {
  return AggregatorRegistry.aggregate(
    processes.map((metrics) => metrics.map((metric) => ({ ...metric, aggregator: 'first' }))),
  );
}

type AttemptCount = {
  outcome: OutcomeClass;
  trigger: 'event' | 'test' | 'redelivery' | 'probe';
  durationMs: number;
};

function createAttemptMetrics(registry: Registry) {
  const registers = [registry];
  const attempts = new Counter({
    name: 'orgdir_delivery_attempts_total',
    help: 'Attempts that this process made, or recorded for a worker that died, by outcome and trigger.',
    labelNames: ['outcome', 'trigger'],
    registers,
  });
  const durations = new Histogram({
    name: 'orgdir_delivery_attempt_duration_seconds',
    help: 'Duration of attempts, from name resolution to the end of the response.',
    labelNames: ['outcome'],
    buckets: durationBucketsSeconds,
    registers,
  });
  return {
    attempted({ outcome, trigger, durationMs }: AttemptCount) {
      attempts.inc({ outcome, trigger });
      durations.observe({ outcome }, durationMs / 1000);
    },
  };
}

function createBatchMetrics(registry: Registry) {
  const batches = (name: string, help: string) =>
    new Histogram({ name: `orgdir_${name}`, help, buckets: batchBuckets, registers: [registry] });
  const claims = batches(
    'claim_batch_deliveries',
    'Deliveries leased at once, without empty claims.',
  );
  const records = batches('record_batch_attempts', 'Attempts recorded per transaction.');
  return {
    /** How many deliveries one claim found; not called for an empty claim. */
    claimed: (count: number) => claims.observe(count),
    /** How many attempts one transaction recorded. */
    recorded: (count: number) => records.observe(count),
  };
}

function createHttpMetrics(registry: Registry) {
  const requests = new RequestCounts();
  registerRequests(registry, requests);
  const signIns = new Counter({
    name: 'orgdir_sign_ins_total',
    help: 'Steps of sign-ins to the portal, by outcome. Asking for a second factor is a step that succeeded.',
    labelNames: ['method', 'outcome'],
    registers: [registry],
  });
  for (const method of signInMethods)
    for (const outcome of signInOutcomes) signIns.inc({ method, outcome }, 0);
  return {
    /** Counts HTTP requests between two scrapes. */
    requests,
    /** Sets the function that reads how often the response cache was asked. */
    responseCache: (read: () => { hit: number; miss: number }) =>
      registerCounter(registry, {
        name: 'orgdir_response_cache_lookups_total',
        help: 'Responses that were in memory (hit), and that had to be loaded or waited for (miss).',
        labelNames: ['result'],
        read: () => Object.entries(read()).map(([result, value]) => [{ result }, value]),
      }),
    /** One step of a sign-in. */
    signedIn: (step: { method: SignInMethod; outcome: SignInOutcome }) => signIns.inc(step),
  };
}

function registerRequests(registry: Registry, { operations, rateLimited }: RequestCounts): void {
  registerCounter(registry, {
    name: 'orgdir_http_requests_total',
    help: 'HTTP requests by operation, class of status and kind of key.',
    labelNames: ['operation', 'key', 'status'],
    read: () =>
      [...operations].flatMap(([operation, counts]) =>
        [...counts.requests].flatMap(([key, byStatus]) =>
          Object.entries(byStatus).map(([status, value]) => [{ operation, key, status }, value]),
        ),
      ),
  });
  registerCounter(registry, {
    name: 'orgdir_http_response_bytes_total',
    help: 'Bytes of HTTP responses, with their headers.',
    labelNames: ['operation'],
    read: () => [...operations].map(([operation, { bytes }]) => [{ operation }, bytes]),
  });
  registerCounter(registry, {
    name: 'orgdir_http_requests_rate_limited_total',
    help: 'HTTP requests over a rate limit, by kind of key.',
    labelNames: ['key'],
    read: () => Object.entries(rateLimited).map(([key, value]) => [{ key }, value]),
  });
  const name = 'orgdir_http_request_duration_seconds';
  const durations = {
    name,
    help: 'Duration of HTTP requests, from their headers to the end of the response.',
    type: 'histogram',
    aggregator: 'sum',
    get: async () => ({
      ...durations,
      values: [...operations].flatMap(([operation, counts]) =>
        toHistogram(name, { operation }, counts),
      ),
    }),
  };
  // A `Histogram` takes single observations only.
  registry.registerMetric(durations as unknown as Histogram);
}

type Sample = [labels: Record<string, string>, value: number];
type ReadOptions<Read> = { name: string; help: string; labelNames?: string[]; read: () => Read };

/** A counter whose values are counted elsewhere. */
function registerCounter(registry: Registry, { read, ...options }: ReadOptions<Sample[]>): void {
  const counter = new Counter({
    ...options,
    registers: [],
    collect() {
      this.reset();
      for (const [labels, value] of read()) this.inc(labels, value);
    },
  });
  registry.registerMetric(counter);
}

/** A gauge whose values are read at a scrape. Absent while the database is unavailable. */
function registerGauge(
  registry: Registry,
  { read, ...options }: ReadOptions<Sample[] | Promise<Sample[]>>,
): void {
  const gauge = new Gauge({
    ...options,
    registers: [],
    async collect() {
      const samples = await Promise.resolve(read()).catch(() => []);
      this.reset();
      // Without labels, a reset leaves a value of 0.
      if (!options.labelNames) this.remove();
      for (const [labels, value] of samples) this.set(labels, value);
    },
  });
  registry.registerMetric(gauge);
}

function toHistogram(
  name: string,
  labels: Record<string, string>,
  { durations, seconds }: OperationCounts,
): { metricName: string; labels: Record<string, string | number>; value: number }[] {
  let count = 0;
  const buckets = durations.map((inBucket, index) => {
    count += inBucket;
    const le = durationBuckets[index] ?? '+Inf';
    return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: seconds },
    { metricName: `${name}_count`, labels, value: count },
  ];
}

/** Counters with labels start at zero: a rate needs a zero to rise from. */
function createOutcomeMetrics(registry: Registry) {
  const registers = [registry];
  const deactivations = new Counter({
    name: 'orgdir_webhooks_deactivated_total',
    help: 'Webhooks that this process deactivated, by reason.',
    labelNames: ['reason'],
    registers,
  });
  const syncRuns = new Counter({
    name: 'orgdir_sync_runs_total',
    help: 'Sync runs of this process, by outcome.',
    labelNames: ['kind', 'outcome'],
    registers,
  });
  const workerEnds = new Counter({
    name: 'orgdir_worker_process_ends_total',
    help: 'How often a worker process of this process has ended without being asked to.',
    labelNames: ['worker'],
    registers,
  });
  for (const reason of ['failing', 'gone']) deactivations.inc({ reason }, 0);
  for (const kind of ['blueprints', 'chat'])
    for (const outcome of ['succeeded', 'failed']) syncRuns.inc({ kind, outcome }, 0);
  return {
    deactivated: (reason: 'failing' | 'gone') => deactivations.inc({ reason }),
    synced: (run: { kind: SyncKind; outcome: 'succeeded' | 'failed' }) => syncRuns.inc(run),
    /** Ends that nobody asked for. Zero makes the counter appear. */
    workerEnded: (worker: number, times: number) => workerEnds.inc({ worker }, times),
  };
}

function createTotals(registry: Registry) {
  const total = (name: string, help: string) =>
    new Counter({ name: `orgdir_${name}_total`, help, registers: [registry] });
  const events = total('events_fanned_out', 'Events that this process fanned out.');
  const rejections = total(
    'events_rejected',
    'Events published by SQL that were rejected. See orgdir events list --rejected.',
  );
  const deliveries = total('deliveries_created', 'Deliveries that this process created.');
  const cancellations = total('deliveries_cancelled', 'Deliveries that this process cancelled.');
  const unreadable = total(
    'deliveries_unreadable',
    "How often this process could not send a delivery because no key of SECRET_KEY decrypts its webhook's secret, headers or URL.",
  );
  const leases = total(
    'delivery_leases_recovered',
    'Deliveries recovered from expired leases, whose worker died or froze.',
  );
  return {
    fannedOut(done: { events: number; deliveries: number }) {
      events.inc(done.events);
      deliveries.inc(done.deliveries);
    },
    rejected: (count: number) => rejections.inc(count),
    cancelled: (count: number) => cancellations.inc(count),
    /** A delivery that waits because its webhook's secret, headers or URL cannot be decrypted. */
    unreadable: () => unreadable.inc(),
    leasesRecovered: (count: number) => leases.inc(count),
  };
}

/** Read from the database at each scrape, and absent while that fails: old values would hide it. */
function createQueueMetrics(
  registry: Registry,
  read: () => Promise<QueueState>,
  ping: () => Promise<unknown>,
) {
  const gauge = (name: string, help: string) =>
    new Gauge({ name: `orgdir_${name}`, help, registers: [registry] });
  const up = gauge('database_up', 'Whether the database answers: 1 or 0.');
  const setAside = new Gauge({
    name: 'orgdir_rows_set_aside',
    help: 'Events, deliveries and other rows that the database or the code refused, by stage. See orgdir events list --rejected.',
    labelNames: ['stage'],
    registers: [registry],
  });
  const gauges: Record<Exclude<keyof QueueState, 'setAside'>, Gauge> = {
    due: gauge('deliveries_due', 'Deliveries that are due.'),
    oldestDueSeconds: gauge(
      'deliveries_oldest_due_age_seconds',
      'Age of the oldest due delivery, not counting those that wait for a slow or failing webhook. 0 if none is due.',
    ),
    pending: gauge('deliveries_pending', 'Deliveries that wait for an attempt, due or not.'),
    leased: gauge(
      'deliveries_leased',
      'Deliveries leased by any process: their attempts are in progress or wait to be recorded.',
    ),
    eventsWaiting: gauge(
      'events_waiting',
      'Events that wait for fan-out, including those published by SQL.',
    ),
    oldestEventSeconds: gauge(
      'events_oldest_waiting_age_seconds',
      'Age of the oldest event that waits for fan-out. 0 if none waits.',
    ),
    setAsideExpiring: gauge(
      'rows_set_aside_expiring',
      'Rows that were set aside or rejected and that retention drops within a day.',
    ),
  };
  const names = Object.keys(gauges) as (keyof typeof gauges)[];
  return async () => {
    setAside.reset();
    const answers = ping().then(
      () => 1,
      () => 0,
    );
    try {
      const state = await read();
      for (const [stage, rows] of Object.entries(state.setAside)) setAside.set({ stage }, rows);
      for (const name of names) gauges[name].set(state[name]);
      up.set(1);
    } catch {
      for (const name of names) gauges[name].remove();
      up.set(await answers);
    }
  };
}
