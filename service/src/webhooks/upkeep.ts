/** What must happen now and then: leases that ran out, partitions ahead, and days that are past keeping. */
import { sql, type Database } from '../database/database.ts';
import { ensurePartitions } from '../database/migrate.ts';
import { systemClock, type Clock } from './clock.ts';
import { recordAttempts, type RecordedAttempt } from './record.ts';
import { attemptsMax, judge, type Backoff } from './retry.ts';

/** Records attempts whose worker died or froze as interrupted; the next follows after its normal backoff. Returns how many. */
export async function recoverLeases(
  database: Database,
  backoff: Backoff,
  deactivateAfter: number,
  clock: Clock = systemClock,
): Promise<number> {
  let count = 0;
  // A lease at a time: each is one claim's worth.
  for (;;) {
    const lease = await nextExpired(database);
    if (lease === null) return count;
    const attempts = lease.deliveries.map((delivery) => interrupted(delivery, backoff, clock));
    // The token is the fence: a worker that wakes and records first, or a second upkeep, leaves nothing to do here.
    await recordAttempts(database, attempts, { deactivateAfter, endedLeases: [lease.token] });
    count += attempts.length;
  }
}

type Interrupted = Omit<RecordedAttempt, 'verdict' | 'statusCode' | 'error'> & {
  cycleAttempt: number;
};

async function nextExpired(
  database: Database,
): Promise<{ token: string; deliveries: Interrupted[] } | null> {
  const { rows } = await sql<Interrupted & { token: string; deliveryId: string | null }>`
    select l.token, p.id as "deliveryId", p.lease_token as "leaseToken", p.webhook_id as "webhookId",
      p.attempt_count as number, p.trigger, p.leased_at as "startedAt",
      least(extract(epoch from l.leased_until - p.leased_at) * 1000, 2147483647)::int as "durationMs",
      null::bytea as "responseHeaders", null::bytea as "responseBody", p.cycle_attempts as "cycleAttempt"
    from (
      select * from leases where leased_until < (select queue_now()) order by leased_until limit 1
    ) l
    left join lateral (
      select * from pending_deliveries where id = any(l.delivery_ids) and lease_token = l.token
    ) p on true
  `.execute(database);
  const [first] = rows;
  if (!first) return null;
  // Recorded to the last, by a worker that died before it could say so: only the lease itself is left.
  return { token: first.token, deliveries: rows.filter((row) => row.deliveryId !== null) };
}

function interrupted(
  { cycleAttempt, ...delivery }: Interrupted,
  backoff: Backoff,
  clock: Clock,
): RecordedAttempt {
  const result = { statusCode: null, error: 'interrupted', retryAfter: null } as const;
  const cycle = {
    attempt: cycleAttempt,
    attemptsMax: delivery.trigger === 'test' ? 1 : attemptsMax,
  };
  return {
    ...delivery,
    statusCode: null,
    error: 'interrupted',
    verdict: judge(result, cycle, backoff, clock.random(), clock.now()),
  };
}

/** Makes partitions ahead and drops those whose whole day is older than `retentionDays`, unless something that has not ended still needs one. */
export async function turnPartitions(database: Database, retentionDays: number): Promise<string[]> {
  await ensurePartitions(database);
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_inherits i
    join pg_class c on c.oid = i.inhrelid join pg_class parent on parent.oid = i.inhparent
    where parent.relname in ('events', 'deliveries', 'attempts') and parent.relnamespace = 'orgdir'::regnamespace
      and to_date(right(c.relname, 8), 'YYYYMMDD') < (now() at time zone 'utc')::date - ${retentionDays}::int
    order by c.relname
  `.execute(database);
  const dropped: string[] = [];
  for (const { name } of rows) if (await dropPartition(database, name)) dropped.push(name);
  return dropped;
}

async function dropPartition(database: Database, name: string): Promise<boolean> {
  return database
    .transaction()
    .execute(async (tx) => {
      const day = name.slice(-8);
      const { rows } = await sql<{ needed: boolean }>`
      select exists (
        select from pending_deliveries p,
          lateral (select to_date(${day}, 'YYYYMMDD')::timestamp at time zone 'utc' as start) d
        where (p.event_id >= uuid_v7_floor(d.start) and p.event_id < uuid_v7_floor(d.start + interval '1 day'))
          or (p.id >= uuid_v7_floor(d.start) and p.id < uuid_v7_floor(d.start + interval '1 day'))
      ) or exists (
        -- Recorded while no worker ran, and still to be fanned out.
        select from events e,
          lateral (select to_date(${day}, 'YYYYMMDD')::timestamp at time zone 'utc' as start) d
        where e.position is null and e.audience <> 'webhook'
          and e.id >= uuid_v7_floor(d.start) and e.id < uuid_v7_floor(d.start + interval '1 day')
      ) as needed
    `.execute(tx);
      if (rows[0]?.needed) return false;
      // A reader that holds the table makes this wait; it must not make all others wait behind it.
      await sql`set local lock_timeout = '2s'`.execute(tx);
      await sql`drop table if exists ${sql.table(name)}`.execute(tx);
      return true;
    })
    .catch((error: { code?: string }) => {
      if (error.code === '55P03') return false;
      throw error;
    });
}
