/** A database for consecutive histories, with a clock that the history moves. */
import { randomBytes } from 'node:crypto';
import { sql } from '../../src/database/database.ts';
import { createSecretBox, type SecretBox } from '../../src/runtime/secret-box.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';
import type { Handed, Snapshot } from './observation.ts';

/** What a process that delivers keeps in memory. */
export type StageWorker = {
  /** Leased and not recorded yet. */
  handed: Handed[];
  outboxFloor: string;
  dueSince: string | null;
};

export type Stage = TestDatabase & {
  secretKeys: Buffer[];
  secretBox: SecretBox;
  serviceName: string;
  workers: [StageWorker, StageWorker];
  /** Replaces both workers by new ones, which know nothing. */
  crash(): void;
  setClock(ms: number): Promise<void>;
  /** Deletes all that the last history left. */
  clear(): Promise<void>;
  snapshot(): Promise<Snapshot>;
  /** Makes the rule for who may have an event another one, in this database alone. */
  changeRule(from: RegExp, to: string): Promise<void>;
};

/** Without `ownClock` time is the database's, as a worker that runs by itself needs it. */
export async function openStage({ ownClock = true } = {}): Promise<Stage> {
  const opened = await openTestDatabase();
  const { database } = opened;
  const secretKeys = [randomBytes(32)];
  // Planning looks at every partition; a history needs today's, and tomorrow's where it runs past midnight.
  if (ownClock) await sql.raw(pruning).execute(database);
  if (ownClock) await sql.raw(clock).execute(database);
  await sql.raw(clearing).execute(database);
  const stage: Stage = {
    ...opened,
    secretKeys,
    secretBox: createSecretBox(secretKeys),
    serviceName: 'Service',
    workers: [startWorker(), startWorker()],
    crash() {
      stage.workers = [startWorker(), startWorker()];
    },
    async setClock(ms) {
      await sql`
        -- prepared: set_clock
        update orgdir.history_clock set at = ${new Date(ms)}
      `.execute(database);
    },
    async clear() {
      stage.crash();
      await sql`
        -- prepared: clear
        select orgdir.clear_history()
      `.execute(database);
    },
    async snapshot() {
      const { rows } = await sql<Snapshot>`${sql.raw(everything)}`.execute(database);
      const [row] = rows;
      if (!row) throw new Error('nothing was read');
      for (const event of row.events) event.createdAt = new Date(event.createdAt).toISOString();
      return row;
    },
    async changeRule(from, to) {
      const { rows: rules } = await sql<{ text: string }>`
        select pg_get_functiondef(oid) as text from pg_proc
        where pronamespace = 'orgdir'::regnamespace and proname in ('may_receive', 'app_may_receive', 'passes_filter')
      `.execute(database);
      const changed = rules.filter(({ text }) => from.test(text));
      if (changed.length === 0) throw new Error(`no rule has ${from}`);
      for (const { text } of changed) await sql.raw(text.replace(from, to)).execute(database);
    },
  };
  return stage;
}

function startWorker(): StageWorker {
  return { handed: [], outboxFloor: '0', dueSince: null };
}

/**
 * Deletes from every table that is empty before the first history: in a function, whose statements PostgreSQL plans once.
 * Foreign keys cascade, so the order is no matter.
 */
const clearing = `do $$ begin execute format('create function orgdir.clear_history() returns void language plpgsql as %L', (
  -- Deletes that find nothing would still run the triggers of their statement.
  select 'begin ' || string_agg(format('if exists (select from %1$s) then delete from %1$s; end if;', c.oid::regclass), ' ') || ' end'
  from pg_class c
  where relnamespace = 'orgdir'::regnamespace and relkind in ('r', 'p') and not relispartition
    and relname <> 'audit_log' -- append-only, and no part of any history
    and relname <> 'app_members' -- deleted with their apps, which must keep an owner
    and relname <> 'history_clock'
    and (xpath('/row/empty/text()', query_to_xml(format('select not exists (select from %s) as empty', c.oid::regclass), true, true, '')))[1]::text = 'true'
)); end $$`;

const clock = `
  create table orgdir.history_clock as select now() as at;
  create or replace function orgdir.queue_now() returns timestamptz language sql volatile
    as $$ select at from orgdir.history_clock $$`;

const pruning = `do $$ declare partition regclass; begin
  for partition in select inhrelid from pg_inherits join pg_class c on c.oid = inhrelid
    where c.relkind = 'r' and right(c.relname, 8) not in
      (select to_char(now() at time zone 'utc' + n * interval '1 day', 'YYYYMMDD') from generate_series(0, 1) n)
  loop execute 'drop table ' || partition; end loop; end $$`;

const everything = `
  -- prepared: snapshot
  select
    (select coalesce(json_agg(json_build_object('id', id, 'name', name, 'subjectId', coalesce(org_id, alliance_id),
       'position', position, 'xid', xid, 'createdAt', created_at, 'data', data)), '[]')
     from (
       select id, name, org_id, alliance_id, position, null::bigint as xid, created_at, data from events
       union all
       select id, name, org_id, alliance_id, null, xid::text::bigint, created_at, data from outbox
     ) event) as events,
    (select coalesce(json_agg(json_build_object('id', id, 'url', url, 'active', active,
       'reason', deactivated_reason, 'exhausted', coalesce(exhausted_in_a_row, 0))), '[]')
     from webhooks left join webhook_health on webhook_id = id) as webhooks,
    (select coalesce(json_agg(each.*), '[]') from (
       select id, event_id as "eventId", webhook_id as "webhookId", 'pending' as status, null as "cancelledBy",
         attempt_count as count, lease_token as "leaseToken",
         case when trigger = 'probe' and lease_token is null and not parked
           then extract(epoch from due_at)::float8 * 1000 end as "probeAt"
       from pending_deliveries
       union all
       select id, event_id, webhook_id, status, cancelled_by, attempt_count, null, null from deliveries
     ) each) as deliveries,
    (select coalesce(json_agg(json_build_object('webhookId', webhook_id, 'gone', gone,
       'kind', case when error is distinct from 'interrupted' then verdict
         else case when verdict like 'probe%' then 'probe_' else '' end || error end) order by seq), '[]')
     from webhook_outcomes where verdict <> 'retry') as outcomes
`;
