/**
 * Ends leases: stores each attempt and moves its delivery to the ended ones or back to the waiting ones, in one statement.
 * Skips attempts whose lease another worker has taken back, and sets aside what PostgreSQL refuses. It locks no webhook: what the attempts say about a webhook's
 * health is noted and added later. Next: `update-webhook-health.ts`.
 */
import { arrayLiteral, packBytes } from '../../../database/array-literal.ts';
import { ensurePartitionsOf, withPartitions } from '../../../database/migrate.ts';
import { sql, type Database } from '../../../database/database.ts';
import { isolateRefused, setAside, take } from '../../../events/set-aside.ts';
import type { RecordedAttempt } from '../../sending/deliver.ts';
import { byFailure } from '../cancel-pending.ts';

/** The most attempts that are recorded with one statement. */
export const recordMax = 512;

export type Recorded = {
  recorded: RecordedAttempt[];
  /** Those whose rows another session has locked: try them again. All others lost their lease. */
  locked: RecordedAttempt[];
};

/** Records attempts as `recordAttempts` does, and sets aside the deliveries of those that are refused. */
export async function recordOrSetAside(
  database: Database,
  attempts: RecordedAttempt[],
  stage: 'record' | 'leases',
  outcomesFloor?: string,
): Promise<Recorded> {
  const done: Recorded = { recorded: [], locked: [] };
  const record = async (some: RecordedAttempt[]) => {
    const { recorded, locked } = await recordAttempts(database, some, outcomesFloor);
    done.recorded.push(...recorded);
    done.locked.push(...locked);
  };
  await isolateRefused(
    attempts,
    (some) => {
      const ids = some.map(({ delivery }) => delivery.id);
      return withPartitions(
        () => ensurePartitionsOf(database, ids),
        () => record(some),
      );
    },
    async ({ delivery, verdict, statusCode, error }, refusal) => {
      const note = `attempt ${delivery.number}: ${verdict.kind}, ${statusCode ?? error ?? 'not sent'}`;
      await setDeliveryAside(database, delivery, { stage, error: refusal, note });
    },
  );
  return done;
}

/** Sets a delivery aside whose lease this process holds. */
export async function setDeliveryAside(
  database: Database,
  { id, leaseToken }: Pick<RecordedAttempt['delivery'], 'id' | 'leaseToken'>,
  refused: Pick<Parameters<typeof setAside>[1], 'stage' | 'error' | 'note'>,
): Promise<void> {
  const moved = take('pending_deliveries', sql`id = ${id} and lease_token = ${leaseToken}`);
  await setAside(database, { ...refused, source: 'pending_deliveries', moved });
}

/** No outcome waits below `outcomesFloor`, an `xid`. */
export async function recordAttempts(
  database: Database,
  attempts: RecordedAttempt[],
  outcomesFloor = '0',
): Promise<Recorded> {
  const gone = await findGone(database, attempts);
  const moved = await findMoved(database, attempts);
  const headers = packBytes(attempts.map((a) => a.responseHeaders));
  const bodies = packBytes(attempts.map((a) => a.responseBody));
  const { rows } = await sql<{ place: number; locked: boolean }>`
    -- prepared: record
    with ${listGiven(attempts, { gone, moved }, headers, bodies)},
    free as materialized (
      select ctid as tid from pending_deliveries
      where id = any(array(select id from given)) and ((id, lease_token) in (select id, token from given)) is true
      -- One row that somebody has locked must not hold up the others.
      for update skip locked
    ),
    released as (
      delete from pending_deliveries where ctid = any(array(select tid from free)) returning id, lease_token as token
    ),
    -- "is true" makes PostgreSQL look ids up in a hash table. A plain "in" is a join, which it may run row against row if
    -- it knows the tables as empty.
    kept as materialized (
      select given.*, verdict in ('succeeded', 'failed', 'retry') as sent, timestamptz 'epoch' + created_ms * interval '1 millisecond' as created_at
      from given where ((id, token) in (select id, token from released)) is true
    ),
    ${moveDeliveries},
    ${storeAttempts(headers.bytes, bodies.bytes)},
    ${noteOutcomes(outcomesFloor)}
    -- Returns only the exceptions, because reading rows costs this process more than PostgreSQL.
    select place - 1 as place, (
      -- Not "exists", for which PostgreSQL 18 reads the whole table into a hash table, and by nothing but the id, because
      -- the token would allow a look through all leases.
      select p.lease_token = token from pending_deliveries p where p.id = given.id
    ) is true as locked
    from given where ((id, token) in (select id, token from released)) is not true
  `.execute(database);
  if (rows.length === 0) return { recorded: attempts, locked: [] };
  const exceptions = new Map(rows.map(({ place, locked }) => [place, locked]));
  return {
    recorded: attempts.filter((_, index) => !exceptions.has(index)),
    locked: attempts.filter((_, index) => exceptions.get(index)),
  };
}

/**
 * Returns the deliveries that failed now without a response and whose last response in the cycle was 410. A response from
 * before the last change of the webhook says nothing: it may be that of a receiver which the webhook has left.
 */
async function findGone(database: Database, attempts: RecordedAttempt[]): Promise<Set<string>> {
  const ended = attempts.flatMap(({ delivery, verdict, statusCode }) =>
    verdict.kind === 'failed' &&
    statusCode === null &&
    delivery.trigger !== 'test' &&
    delivery.trigger !== 'probe'
      ? delivery
      : [],
  );
  if (ended.length === 0) return new Set();
  const { rows } = await sql<{ id: string }>`
    -- prepared: last_responses
    select e.id from unnest(${ended.map((one) => one.id)}::uuid[], ${ended.map((one) => one.webhookId)}::uuid[],
      ${ended.map((one) => one.number)}::int[], ${ended.map((one) => one.number - one.cycleAttempt)}::int[]) as e(id, webhook_id, number, before)
    cross join lateral (
      select status_code from attempts
      where delivery_id = e.id and number > e.before and number < e.number
        and status_code is not null
        and started_at >= (select updated_at from webhooks where id = e.webhook_id)
      order by number desc limit 1
    ) response
    where response.status_code = 410
  `.execute(database);
  return new Set(rows.map(({ id }) => id));
}

/** Returns the deliveries whose receivers say that they are gone, but whose webhooks have moved to others meanwhile. */
async function findMoved(database: Database, attempts: RecordedAttempt[]): Promise<Set<string>> {
  const refused = attempts.flatMap((attempt) => {
    const { id, webhookId, url, chat } = attempt.delivery;
    if (attempt.verdict.kind !== 'failed' || !saysGone(attempt) || url === undefined) return [];
    return { id, webhookId, url, sealedUrl: chat?.sealedUrl ?? null };
  });
  if (refused.length === 0) return new Set();
  const { rows } = await sql<{ id: string }>`
    -- prepared: moved_webhooks
    select r.id from unnest(${refused.map((one) => one.id)}::uuid[], ${refused.map((one) => one.webhookId)}::uuid[],
      ${refused.map((one) => one.url)}::text[], ${refused.map((one) => one.sealedUrl)}::bytea[]) as r(id, webhook_id, url, sealed_url)
    cross join lateral (select url, sealed_url from webhooks where id = r.webhook_id limit 1) w
    where (w.url, w.sealed_url) is distinct from (r.url, r.sealed_url)
  `.execute(database);
  return new Set(rows.map(({ id }) => id));
}

function saysGone({ statusCode, answer }: RecordedAttempt): boolean {
  return statusCode === 410 || answer?.gone === true;
}

type Packed = ReturnType<typeof packBytes>;

function listGiven(
  attempts: RecordedAttempt[],
  { gone, moved }: { gone: Set<string>; moved: Set<string> },
  headers: Packed,
  bodies: Packed,
) {
  const isNoted = attempts.map(
    (attempt) => affectsHealth(attempt, gone) && !moved.has(attempt.delivery.id),
  );
  const withFailures = webhooksWithFailures(attempts);
  const column = (pick: (attempt: RecordedAttempt) => string | number | boolean | null) =>
    arrayLiteral(attempts.map(pick));
  return sql`
  given as materialized (
    select * from unnest(
      ${column((a) => a.delivery.id)}::uuid[], ${column((a) => a.delivery.leaseToken)}::uuid[],
      ${column((a) => a.delivery.eventId)}::uuid[], ${column((a) => a.delivery.event)}::text[],
      ${column((a) => a.delivery.webhookId)}::uuid[], ${column((a) => a.delivery.trigger)}::text[], ${column((a) => a.delivery.number)}::int[],
      ${column((a) => a.delivery.cycleAttempt)}::int[], ${column((a) => a.delivery.createdAtMs)}::float8[],
      ${column((a) => a.verdict.kind)}::text[], ${column((a) => ('waitMs' in a.verdict ? a.verdict.waitMs : null))}::bigint[],
      ${column((a) => a.verdict.kind === 'postponed' && a.verdict.park)}::boolean[],
      ${column((a) => (a.verdict.kind === 'cancelled' ? a.verdict.by : null))}::text[],
      ${column((a) => a.startedAt.getTime())}::bigint[], ${column((a) => a.durationMs)}::int[],
      ${column((a) => a.statusCode)}::int[], ${column((a) => a.error)}::text[], ${column((a) => a.errorCause)}::text[],
      ${headers.starts}::int[], ${headers.lengths}::int[], ${bodies.starts}::int[], ${bodies.lengths}::int[],
      ${arrayLiteral(isNoted)}::boolean[], ${column((a) => withFailures.has(a.delivery.webhookId))}::boolean[],
      ${column((a) => a.delivery.trigger !== 'probe' && (saysGone(a) || gone.has(a.delivery.id)))}::boolean[]
    ) with ordinality as g(id, token, event_id, event, webhook_id, trigger, number, cycle_attempt, created_ms,
      verdict, wait_ms, park, cancelled_by, started_ms, duration_ms, status_code, error, error_cause,
      headers_start, headers_length, body_start, body_length, noted, with_failures, gone, place)
  )
  `;
}

/** Each released delivery either ends or waits again. */
const moveDeliveries = sql`
  ended as (
    insert into deliveries (id, event_id, event, webhook_id, status, cancelled_by, by_failure, attempt_count, created_at, first_outcome_ms)
    select id, event_id, event, webhook_id, case verdict when 'given_up' then 'failed' else verdict end, cancelled_by, ${byFailure(sql`cancelled_by`)},
      number - (not sent)::int, created_at, case when trigger = 'event' then case when sent then duration_ms else 0 end end
    from kept where verdict not in ('retry', 'postponed')
  ),
  again as (
    insert into pending_deliveries (id, event_id, event, webhook_id, trigger, created_at, parked, due_at, attempt_count, cycle_attempts)
    select id, event_id, event, webhook_id, trigger, created_at, park, queue_now() + wait_ms * interval '1 millisecond',
      -- A delivery that was not sent does not count as an attempt.
      number - (not sent)::int, cycle_attempt - (not sent)::int
    from kept where verdict in ('retry', 'postponed')
  )
`;

function storeAttempts(headers: Packed['bytes'], bodies: Packed['bytes']) {
  return sql`
  attempted as (
    insert into attempts (delivery_id, number, trigger, started_at, duration_ms, status_code, error, error_cause,
      response_headers, response_body)
    -- The API has no other name for the attempt of a probe.
    select id, number, case trigger when 'probe' then 'test' else trigger end, timestamptz 'epoch' + started_ms * interval '1 millisecond', duration_ms, status_code, error, error_cause,
      substring(${headers}::bytea from headers_start for headers_length),
      substring(${bodies}::bytea from body_start for body_length)
    from kept where sent
  )
  `;
}

function noteOutcomes(outcomesFloor: string) {
  return sql`
  noted as (
    insert into webhook_outcomes (webhook_id, verdict, status_code, error, gone, duration_ms)
    select webhook_id, case when trigger <> 'probe' then verdict when verdict = 'succeeded' then 'probe_succeeded' else 'probe_failed' end,
      status_code, error, gone and verdict = 'failed', case when error is distinct from 'interrupted' then duration_ms end
    from kept
    where noted and (with_failures or trigger = 'probe'
      -- A success is only noted if it may change something: after a failure, and once a second.
      or coalesce(
        (select o.verdict <> 'succeeded' from webhook_outcomes o
          -- A range, because the order of one index alone begins with the webhook.
          where o.webhook_id between kept.webhook_id and kept.webhook_id and xid >= ${outcomesFloor}::xid8
          order by o.webhook_id, xid desc, seq desc limit 1),
        (select exhausted_in_a_row > 0 or is_failing(last_success_at, last_failure_at)
          or coalesce(last_success_at < queue_now() - interval '1 second', true)
          from webhook_health h where h.webhook_id = kept.webhook_id order by version desc limit 1),
        true))
    order by place
  )
  `;
}

function webhooksWithFailures(attempts: RecordedAttempt[]): Set<string> {
  const failed = attempts.filter(({ verdict: { kind } }) => kind === 'failed' || kind === 'retry');
  return new Set(failed.map(({ delivery }) => delivery.webhookId));
}

/** Tests don't affect health, and neither do interruptions, unless the last response before one was 410. */
function affectsHealth({ delivery, verdict, error }: RecordedAttempt, gone: Set<string>): boolean {
  if (delivery.trigger === 'test') return false;
  // Its outcome decides about the next one (`healing.ts`), and nothing else.
  if (delivery.trigger === 'probe')
    return verdict.kind !== 'postponed' && verdict.kind !== 'cancelled';
  if (error === 'interrupted') return verdict.kind === 'failed' && gone.has(delivery.id);
  return verdict.kind === 'succeeded' || verdict.kind === 'failed' || verdict.kind === 'retry';
}
