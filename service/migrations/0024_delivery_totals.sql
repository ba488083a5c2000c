-- Counts of ended deliveries, so that lists need not count rows, and statistics, which outlive the rows.

create function uuid_v7_hour(id uuid) returns timestamptz language sql immutable parallel safe as $$
  select date_bin('1 hour', timestamptz 'epoch'
    + ('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint * interval '1 millisecond', 'epoch')
$$;

create function latency_bucket(ms integer) returns smallint language sql immutable parallel safe as $$
  -- Each bucket ends 19 % above the one before it: bucket n holds latencies up to 2^(n/4) ms.
  select case when ms <= 1 then 0 else ceil(4 * ln(ms::float8) / ln(2::float8)) end::smallint
$$;

-- Set when a delivery ends for the first time: how long its last attempt took, or 0 if it was not sent. Statistics
-- count these, so a redelivery does not change them.
alter table deliveries add column first_outcome_ms integer check (first_outcome_ms >= 0);

-- Each change of the number of ended deliveries, appended in its transaction. The worker adds them to the tables below.
create table delivery_changes (
  xid xid8 not null default pg_current_xact_id(),
  webhook_id uuid not null,
  event text not null,
  status text not null,
  -- the hour of created_at, and the hour of the id, which decides in which partition the rows are
  hour timestamptz not null,
  id_hour timestamptz not null,
  deliveries integer not null,
  -- of first outcomes: the last attempt's duration, and the time from queuing to the end
  durations integer[],
  delays integer[]
);
create index delivery_changes_by_xid on delivery_changes (xid);
alter table delivery_changes set (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_cost_delay = 0);

-- With delivery_changes, the exact number of rows in deliveries.
create table delivery_totals (
  webhook_id uuid not null,
  hour timestamptz not null,
  id_hour timestamptz not null,
  event text not null,
  status text not null,
  -- below zero for a moment if a redelivery is added before the outcome that it follows
  deliveries bigint not null,
  primary key (webhook_id, hour, id_hour, event, status)
) with (fillfactor = 80);
create index delivery_totals_by_id_hour on delivery_totals (id_hour);

-- First outcomes, without tests. The bucket is that of the last attempt's duration, and 0 unless it succeeded.
create table webhook_stats (
  webhook_id uuid not null,
  hour timestamptz not null,
  status text not null,
  bucket smallint not null,
  deliveries bigint not null,
  primary key (webhook_id, hour, status, bucket)
) with (fillfactor = 80);

-- The same over all webhooks. The bucket is that of the time from queuing to the end.
create table service_stats (
  hour timestamptz not null,
  status text not null,
  bucket smallint not null,
  deliveries bigint not null,
  primary key (hour, status, bucket)
) with (fillfactor = 80);

create function note_delivery_changes() returns trigger language plpgsql set search_path = orgdir, public as $$
begin
  if tg_op <> 'INSERT' then
    insert into delivery_changes (webhook_id, event, status, hour, id_hour, deliveries)
    select webhook_id, event, status, date_bin('1 hour', created_at, 'epoch') as hour, uuid_v7_hour(id) as id_hour, -count(*)
    from old_rows group by webhook_id, event, status, hour, id_hour;
  end if;
  if tg_op <> 'DELETE' then
    insert into delivery_changes (webhook_id, event, status, hour, id_hour, deliveries, durations, delays)
    select webhook_id, event, status, date_bin('1 hour', created_at, 'epoch') as hour, uuid_v7_hour(id) as id_hour, count(*),
      array_agg(first_outcome_ms) filter (where counts),
      array_agg(least(extract(epoch from completed_at - created_at) * 1000, 2147483647)::int) filter (where counts)
    from (select *, tg_op = 'INSERT' and first_outcome_ms is not null as counts from new_rows) new_rows
    group by webhook_id, event, status, hour, id_hour;
  end if;
  return null;
end $$;

create trigger note_inserted after insert on deliveries referencing new table as new_rows
  for each statement execute function note_delivery_changes();
create trigger note_deleted after delete on deliveries referencing old table as old_rows
  for each statement execute function note_delivery_changes();
create trigger note_updated after update on deliveries referencing old table as old_rows new table as new_rows
  for each statement execute function note_delivery_changes();

insert into delivery_totals (webhook_id, hour, id_hour, event, status, deliveries)
select webhook_id, date_bin('1 hour', created_at, 'epoch'), uuid_v7_hour(id), event, status, count(*)
from deliveries group by 1, 2, 3, 4, 5;

-- Statistics of the deliveries that are still there, by their last outcome.
insert into webhook_stats (webhook_id, hour, status, bucket, deliveries)
select d.webhook_id, date_bin('1 hour', d.created_at, 'epoch'), d.status,
  case when d.status = 'succeeded' then latency_bucket(a.duration_ms) else 0 end, count(*)
from deliveries d left join attempts a on a.delivery_id = d.id and a.number = d.attempt_count
where d.created_at > now() - interval '8 days' and d.id >= uuid_v7_floor(now() - interval '9 days') and d.event <> 'webhook.test'
  and (d.status <> 'succeeded' or a.duration_ms is not null)
group by 1, 2, 3, 4;

insert into service_stats (hour, status, bucket, deliveries)
select date_bin('1 hour', created_at, 'epoch'), status,
  latency_bucket(least(extract(epoch from completed_at - created_at) * 1000, 2147483647)::int), count(*)
from deliveries where event <> 'webhook.test' group by 1, 2, 3;

-- Those that did not succeed, to recover them and to search them by response.
drop index deliveries_to_recover;
create index deliveries_unsuccessful on deliveries (webhook_id, id) include (completed_at) where status <> 'succeeded';

-- How often a key was used on the last day (UTC) on which it was used.
alter table api_keys add column used_on date, add column uses bigint not null default 0;

-- For the status page.
create index audit_log_of_maintenance on audit_log (at desc) where action = 'maintenance.disabled';
