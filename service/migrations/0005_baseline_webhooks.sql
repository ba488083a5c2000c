-- Webhooks and deliveries. Finished work is in partitions by day, which are dropped whole; what is pending is in one small
-- table, so that history never slows the queue.

-- --- webhooks ----------------------------------------------------------------------------------------

create table webhooks (
  id uuid primary key,
  app_id uuid not null references apps on delete cascade,
  url text not null check (length(url) <= 2048),
  description text,
  -- Null: every event that the app may have.
  events text[] check (cardinality(events) > 0),
  active boolean not null default true,
  deactivated_at timestamptz(3),
  -- `suspended`: it was active before (`suspensions`).
  deactivated_reason text check (deactivated_reason in ('failing', 'gone', 'owner', 'suspended')),
  -- Whether it is probed after a deactivation as `failing`, and activated when it responds again.
  self_healing boolean not null default true,
  replay_after_healing boolean not null default false,
  -- AES-256-GCM under SECRET_KEY, bound to this row's id.
  secret bytea not null,
  previous_secret bytea,
  previous_secret_expires_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  check (active = (deactivated_at is null)),
  check (active = (deactivated_reason is null)),
  check ((previous_secret is null) = (previous_secret_expires_at is null))
);
create index webhooks_by_app on webhooks (app_id, id);

-- The settings by time, as `binding_versions`.
create table webhook_versions (
  id bigint primary key generated always as identity,
  webhook_id uuid not null references webhooks on delete cascade,
  active boolean not null,
  events text[],
  valid_from timestamptz not null default clock_timestamp(),
  valid_to timestamptz check (valid_to >= valid_from)
);
create index webhook_versions_by_webhook on webhook_versions (webhook_id, valid_from);
create unique index webhook_versions_current on webhook_versions (webhook_id) where valid_to is null;

create function keep_webhook_version() returns trigger language plpgsql set search_path from current as $$
declare
  -- A clock that was put back must not make intervals overlap.
  changed_at constant timestamptz := greatest(clock_timestamp(),
    (select valid_from from webhook_versions where webhook_id = new.id and valid_to is null));
begin
  update webhook_versions set valid_to = changed_at where webhook_id = new.id and valid_to is null;
  insert into webhook_versions (webhook_id, active, events, valid_from) values (new.id, new.active, new.events, changed_at);
  return null;
end $$;
create trigger keep_version_created after insert on webhooks for each row execute function keep_webhook_version();
create trigger keep_version_changed after update on webhooks for each row
  when ((old.active, old.events) is distinct from (new.active, new.events)) execute function keep_webhook_version();

-- --- queue -------------------------------------------------------------------------------------------

-- The processes that deliver, which share each webhook's limit.
create table workers (
  id uuid primary key,
  seen_at timestamptz(3) not null
);

-- How many attempts one of `workers` processes may have in flight for a webhook, so that all together have `total`. The
-- remainder falls to different processes for different webhooks; `place` counts them from 0.
create function webhook_share(webhook uuid, total integer, place integer, workers integer) returns integer
language sql immutable parallel safe as $$
  select (total + (place + ('x' || right(webhook::text, 6))::bit(24)::integer) % workers) / workers
$$;

-- Events for many webhooks, while fan-out makes their deliveries in slices, in the order of the webhooks' ids.
create table broadcasts (
  event_id uuid primary key,
  position bigint not null unique,
  -- The last webhook that the slices so far have looked at.
  reached uuid not null default '00000000-0000-0000-0000-000000000000',
  advanced_at timestamptz(3) not null default queue_now()
);

-- No foreign key to webhooks: ten thousand key checks per fan-out would cost more than the insert; a claim finds the webhook
-- gone and cancels.
create table pending_deliveries (
  id uuid primary key,
  event_id uuid not null,
  event text not null,
  webhook_id uuid not null,
  trigger text not null check (trigger in ('event', 'test', 'redelivery', 'probe')),
  -- In the current cycle: at most six attempts.
  cycle_attempts integer not null default 0 check (cycle_attempts between 0 and 6),
  -- Over all cycles.
  attempt_count integer not null default 0 check (attempt_count >= cycle_attempts),
  -- A leased delivery is due when its lease ends, so one column orders both.
  due_at timestamptz(3) not null,
  -- It waits for its webhook, which had no room when it fell due. The others are claimed in the order of time and never meet
  -- it.
  parked boolean not null default false,
  -- Set while an attempt is in flight; only its holder may record the outcome.
  lease_token uuid,
  leased_at timestamptz(3),
  created_at timestamptz(3) not null default clock_timestamp(),
  check (num_nonnulls(lease_token, leased_at) in (0, 2)),
  check (not parked or lease_token is null)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.01);
create index pending_deliveries_due on pending_deliveries (due_at) where lease_token is null and not parked;
create index pending_deliveries_parked on pending_deliveries (webhook_id, due_at) where parked;
create index pending_deliveries_leased on pending_deliveries (due_at) where lease_token is not null;
create index pending_deliveries_by_webhook on pending_deliveries (webhook_id, due_at);
-- Retention asks whether a pending delivery needs the events of a day. A delivery is made right after its event, so its own
-- id tells, unless its event waited for long or is sent again. Those deliveries are in this index: their id and that of
-- their event differ in the first six digits, which change every 2^24 ms, or 4.7 hours.
create index pending_deliveries_late on pending_deliveries (event_id) where left(id::text, 6) <> left(event_id::text, 6);

-- --- health ------------------------------------------------------------------------------------------

-- What recorded attempts say about the health of their webhooks, until it is added to `webhook_health`. Recording an attempt
-- therefore locks no webhook, and a locked webhook delays nobody else. Successes of a healthy webhook appear once a second.
create table webhook_outcomes (
  -- As in the outbox.
  xid xid8 not null default pg_current_xact_id(),
  seq bigint generated always as identity,
  webhook_id uuid not null,
  verdict text not null check (verdict in ('succeeded', 'retry', 'failed', 'probe_succeeded', 'probe_failed')),
  status_code integer,
  error text,
  -- The last response was 410.
  gone boolean not null,
  -- Null for an interrupted attempt.
  duration_ms integer,
  recorded_at timestamptz(3) not null default queue_now(),
  primary key (xid, seq)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1);
create index webhook_outcomes_by_webhook on webhook_outcomes (webhook_id, xid desc, seq desc);

-- Apart from the row of the webhook: fan-out and the check before each attempt read that row, and would step over all of its
-- versions that somebody's snapshot keeps. A new state is a new row, and the row that it replaces is deleted, so the queue
-- finds the latest one first, however many a snapshot keeps.
create table webhook_health (
  webhook_id uuid not null references webhooks on delete cascade,
  version bigint generated always as identity,
  last_success_at timestamptz(3),
  last_failure_at timestamptz(3),
  exhausted_in_a_row integer not null check (exhausted_in_a_row >= 0),
  -- How long the last attempt took, so that every process knows from its start which receivers are slow.
  latency_ms integer,
  primary key (webhook_id, version)
);

-- Whether a webhook's last attempt failed.
create function is_failing(last_success_at timestamptz, last_failure_at timestamptz)
returns boolean language sql immutable parallel safe as $$
  select coalesce(last_failure_at > coalesce(last_success_at, '-infinity'), false)
$$;

-- Webhooks that were deactivated as failing are probed, and activated when they respond again.
create table webhook_healing (
  webhook_id uuid primary key references webhooks on delete cascade,
  -- The probes that have failed since the deactivation; null while the webhook is not probed.
  failed_probes integer check (failed_probes >= 0),
  -- Whether the last probe succeeded.
  succeeded boolean not null default false,
  -- The last three activations, oldest first.
  healed_at timestamptz(3)[] not null default '{}' check (cardinality(healed_at) <= 3),
  -- What was missed since then is to be replayed.
  replay_since timestamptz(3)
);
create index webhook_healing_to_replay on webhook_healing (webhook_id) where replay_since is not null;

-- What the members of an app must know: a webhook keeps failing, is deactivated, or is active again. And the mail about it.
create table operational_events (
  id uuid primary key default uuid_v7(),
  app_id uuid not null references apps on delete cascade,
  -- A webhook that is deleted takes them along: nobody can get it back, so nobody needs the mail.
  webhook_id uuid not null references webhooks on delete cascade,
  kind text not null check (kind in ('webhook.failing', 'webhook.deactivated', 'webhook.healed', 'webhook.not_healed')),
  reason text check (reason in ('failing', 'gone')),
  -- Of the last attempt.
  status_code integer check (status_code between 100 and 999),
  error text check (error in ('dns', 'connect', 'tls', 'timeout', 'blocked', 'reset')),
  exhausted_in_a_row integer not null check (exhausted_in_a_row >= 0),
  -- Deliveries that waited and that deactivation ended. Null: more waited than are cancelled at once, and nobody has counted
  -- them.
  cancelled integer default 0 check (cancelled >= 0),
  -- The host of the address alone: its path or query may hold the owner's token.
  host text not null,
  last_success_at timestamptz(3),
  created_at timestamptz(3) not null default queue_now(),
  -- Earlier ones of its kind that its mail covers too, because they had none of their own.
  repeats integer not null default 0 check (repeats >= 0),
  -- While a mail is to come; null, with neither of the two below, if a later event's mail covers it.
  next_mail_at timestamptz(3),
  -- While one is being sent.
  mail_leased_until timestamptz(3),
  mail_attempts integer not null default 0 check (mail_attempts between 0 and 8),
  -- The members who need no mail about the event any more: theirs was sent, or cannot be.
  mailed_to text[] not null default '{}',
  mailed_at timestamptz(3),
  given_up_at timestamptz(3),
  -- Of the last try: a class, never the words of a server.
  mail_error text,
  check ((kind = 'webhook.deactivated') = (reason is not null)),
  check (num_nonnulls(next_mail_at, mailed_at, given_up_at) <= 1),
  check (mail_leased_until is null or next_mail_at is not null)
);
create index operational_events_by_webhook on operational_events (webhook_id, created_at desc, id desc);
create index operational_events_by_app on operational_events (app_id, created_at desc, id desc);
create index operational_events_by_time on operational_events (created_at);
create index operational_events_to_mail on operational_events (next_mail_at) where next_mail_at is not null;

-- --- history -----------------------------------------------------------------------------------------

-- Deliveries that have ended.
create table deliveries (
  id uuid primary key,
  event_id uuid not null,
  event text not null,
  webhook_id uuid not null,
  status text not null check (status in ('succeeded', 'failed', 'cancelled')),
  -- What deactivation or suspension cancelled can be recovered; what permission or the owner ended cannot.
  cancelled_by text check (cancelled_by in ('deactivation', 'permission', 'deletion', 'suspension')),
  attempt_count integer not null check (attempt_count >= 0),
  -- Set when a delivery ends for the first time: how long its last attempt took, or 0 if it was not sent. Statistics
  -- count these, so a redelivery does not change them.
  first_outcome_ms integer check (first_outcome_ms >= 0),
  created_at timestamptz(3) not null,
  completed_at timestamptz(3) not null default clock_timestamp(),
  check ((status = 'cancelled') = (cancelled_by is not null))
) partition by range (id);
create index deliveries_by_webhook on deliveries (webhook_id, id desc);
-- To recover them and to search them by response, without the whole history of a webhook that does well.
create index deliveries_unsuccessful on deliveries (webhook_id, id) include (completed_at) where status <> 'succeeded';

create table attempts (
  delivery_id uuid not null,
  number integer not null check (number >= 1),
  trigger text not null check (trigger in ('event', 'test', 'redelivery')),
  started_at timestamptz(3) not null,
  duration_ms integer not null check (duration_ms >= 0),
  status_code integer check (status_code between 100 and 999),
  error text check (error in ('dns', 'connect', 'tls', 'timeout', 'blocked', 'reset', 'interrupted')),
  -- bytea: a NUL or bad UTF-8 from a receiver must not fail the batch it is recorded with.
  response_headers bytea,
  response_body bytea,
  primary key (delivery_id, number),
  check (num_nonnulls(status_code, error) >= 1)
) partition by range (delivery_id);

-- One partition per day and table, both days included. Cheap to repeat. A new day's partitions come without anybody waiting: a
-- table is made next to its parent and then attached, while reads and writes of the parent go on. Made as a partition at once
-- it would lock the parent against all of them, and behind one long read, such as a dump, every publish, claim and record would
-- queue. What another session keeps locked is left for the next turn without an error: days are made a week ahead.
create function ensure_partitions(first_day date, last_day date) returns void
language plpgsql set search_path from current set lock_timeout = '200ms' as $$
declare
  parent text;
  day date;
  partition text;
begin
  -- Two processes that start at once must not create the same table.
  begin
    perform pg_advisory_xact_lock(70420002);
  exception when lock_not_available then
    return;
  end;
  foreach parent in array array['events', 'deliveries', 'attempts'] loop
    -- A table at a time: the lock is waited for once, whatever the number of days.
    begin
      for day in select generate_series(first_day, last_day, interval '1 day')::date loop
        partition := parent || '_' || to_char(day, 'YYYYMMDD');
        if to_regclass(partition) is null then
          execute format('create table %I (like %I including all)', partition, parent);
          execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, partition,
            uuid_v7_floor(day::timestamp at time zone 'utc'),
            uuid_v7_floor((day + 1)::timestamp at time zone 'utc'));
        end if;
      end loop;
    exception when lock_not_available then
      null;
    end;
  end loop;
end $$;

-- Makes partitions for events that wait in the outbox. Usually there are some, but not if no worker ran for a week.
create function ensure_outbox_partitions() returns void language plpgsql set search_path from current as $$
declare
  today constant date := (clock_timestamp() at time zone 'utc')::date;
begin
  perform ensure_partitions(day, day)
  from (
    select distinct (uuid_v7_hour(id) at time zone 'utc')::date as day from outbox
    -- The delivery gets an id of its own, by the database's clock.
    union select today
  ) days
  -- An id that is further away is not a time. Without a bound, a few such rows could make thousands of tables.
  where abs(day - today) <= 400
  order by day;
end $$;

-- --- totals and statistics ---------------------------------------------------------------------------
-- Counts of ended deliveries, so that lists need not count rows, and statistics, which outlive the rows.

create function latency_bucket(ms integer) returns smallint language sql immutable parallel safe as $$
  -- Each bucket ends 19 % above the one before it: bucket n holds latencies up to 2^(n/4) ms.
  select case when ms <= 1 then 0 else ceil(4 * ln(ms::float8) / ln(2::float8)) end::smallint
$$;

-- Each change of the number of ended deliveries, appended in its transaction. The worker adds them to the tables below.
create table delivery_changes (
  -- As in the outbox.
  xid xid8 not null default pg_current_xact_id(),
  webhook_id uuid not null,
  event text not null,
  status text not null,
  -- The hour of created_at, and the hour of the id, which decides in which partition the rows are.
  hour timestamptz not null,
  id_hour timestamptz not null,
  deliveries integer not null,
  -- Of first outcomes: the last attempt's duration, and the time from queuing to the end.
  durations integer[],
  delays integer[]
) with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0);
create index delivery_changes_by_xid on delivery_changes (xid);

create function note_delivery_changes() returns trigger language plpgsql set search_path from current as $$
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

-- With delivery_changes, the exact number of rows in deliveries.
create table delivery_totals (
  webhook_id uuid not null,
  hour timestamptz not null,
  id_hour timestamptz not null,
  event text not null,
  status text not null,
  -- Below zero for a moment if a redelivery is added before the outcome that it follows.
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
-- Retention looks for the rows of past hours.
create index webhook_stats_by_hour on webhook_stats (hour);

-- The same over all webhooks. The bucket is that of the time from queuing to the end.
create table service_stats (
  hour timestamptz not null,
  status text not null,
  bucket smallint not null,
  deliveries bigint not null,
  primary key (hour, status, bucket)
) with (fillfactor = 80);

-- --- set aside ---------------------------------------------------------------------------------------

-- Rows that PostgreSQL or the code refused. They leave the table in which they waited, so that whatever comes after them
-- goes on, and wait here until somebody retries or drops them.
create table set_aside (
  id uuid primary key default uuid_v7(),
  -- The table that the row came from, and goes back to.
  source text not null check (source in
    ('published_events', 'outbox', 'pending_deliveries', 'webhook_outcomes', 'delivery_changes', 'operational_events')),
  stage text not null,
  original jsonb not null,
  -- The SQLSTATE; null for an exception in the code.
  code text,
  reason text not null check (length(reason) <= 2000),
  event_id uuid,
  delivery_id uuid,
  -- No foreign key: setting a row aside must not wait for whoever has locked the webhook.
  webhook_id uuid,
  set_aside_at timestamptz(3) not null default queue_now()
);
create index set_aside_by_webhook on set_aside (webhook_id, event_id);
create index set_aside_by_time on set_aside (set_aside_at);

create function drop_set_aside() returns trigger language plpgsql set search_path from current as $$
begin
  delete from set_aside where webhook_id in (select id from gone);
  return null;
end $$;
create trigger drop_set_aside after delete on webhooks referencing old table as gone
  for each statement execute function drop_set_aside();
