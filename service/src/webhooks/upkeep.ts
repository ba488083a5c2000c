/** What must happen now and then: leases that ran out, partitions ahead, and days that are past keeping. */
import { sql, type Database } from '../database/database.ts';
import { ensurePartitions } from '../database/migrate.ts';
import { recordAttempts, type RecordedAttempt } from './record.ts';
import { attemptsMax, judge, type Backoff } from './retry.ts';

const leasesPerBatch = 500;

/** Records attempts whose worker died or froze as interrupted; the next follows after its normal backoff. Returns how many. */
export async function recoverLeases(
  database: Database,
  backoff: Backoff,
  deactivateAfter: number,
): Promise<number> {
  const { rows } = await sql<Omit<RecordedAttempt, 'verdict'> & { cycleAttempt: number }>`
    select id as "deliveryId", lease_token as "leaseToken", webhook_id as "webhookId", attempt_count as number, trigger,
      leased_at as "startedAt",
      least(extract(epoch from leased_until - leased_at) * 1000, 2147483647)::int as "durationMs",
      null::int as "statusCode", 'interrupted' as error, null::bytea as "responseHeaders",
      null::bytea as "responseBody", cycle_attempts as "cycleAttempt"
    from pending_deliveries where leased_until < queue_now()
    order by leased_until limit ${leasesPerBatch}
  `.execute(database);
  if (rows.length === 0) return 0;
  const interrupted = { statusCode: null, error: 'interrupted', retryAfter: null } as const;
  const attempts = rows.map((row) => {
    const cycle = {
      attempt: row.cycleAttempt,
      attemptsMax: row.trigger === 'test' ? 1 : attemptsMax,
    };
    return { ...row, verdict: judge(interrupted, cycle, backoff, Math.random(), new Date()) };
  });
  // The token is the fence: a worker that wakes and records first, or a second upkeep, leaves nothing to do here.
  await recordAttempts(database, attempts, deactivateAfter);
  return rows.length;
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
