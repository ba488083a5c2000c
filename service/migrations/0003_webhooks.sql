-- Events and deliveries. Finished work lives in partitions by day, which are dropped whole; what is
-- pending lives in one small table, so that history never slows the queue.

create function uuid_v7(at timestamptz default clock_timestamp()) returns uuid
language sql volatile parallel safe as $$
  -- PostgreSQL has its own from 18 on; this one runs on 15. 48 bits of milliseconds, then random bits.
  select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send(floor(extract(epoch from at) * 1000)::bigint) from 3) from 1 for 6),
    52, 1), 53, 1), 'hex')::uuid
$$;

create function uuid_v7_floor(at timestamptz) returns uuid language sql immutable parallel safe as $$
  -- The smallest UUIDv7 of that millisecond: a partition's bound.
  select encode(overlay('\x00000000000000000000000000000000'::bytea
    placing substring(int8send(floor(extract(epoch from at) * 1000)::bigint) from 3) from 1 for 6),
    'hex')::uuid
$$;

create table events (
  id uuid primary key,
  name text not null,
  -- who may get it: everyone, the apps bound to org_id or alliance_id, or one webhook (its test)
  audience text not null check (audience in ('global', 'organization', 'alliance', 'webhook')),
  -- what it is about; of a global event, what must still be visible when it is sent
  org_id uuid,
  alliance_id uuid,
  -- text, never jsonb: the bytes that were recorded are the bytes that are sent
  data text not null,
  created_at timestamptz(3) not null default clock_timestamp(),
  -- given at fan-out by the one holder of its lock, so that a late commit is never skipped
  position bigint,
  check (audience <> 'organization' or (org_id is not null and alliance_id is null)),
  check (audience <> 'alliance' or (alliance_id is not null and org_id is null)),
  check (audience <> 'webhook' or position is null)
) partition by range (id);
create index events_to_fan_out on events (id) where position is null and audience <> 'webhook';
create index events_by_position on events (position) where position is not null;

create sequence event_positions;

create table webhooks (
  id uuid primary key,
  app_id uuid not null references apps on delete cascade,
  url text not null check (length(url) <= 2048),
  description text,
  -- null: every event that the app may have
  events text[] check (cardinality(events) > 0),
  active boolean not null default true,
  deactivated_at timestamptz(3),
  deactivated_reason text check (deactivated_reason in ('failing', 'gone', 'owner')),
  last_success_at timestamptz(3),
  last_failure_at timestamptz(3),
  exhausted_in_a_row integer not null default 0 check (exhausted_in_a_row >= 0),
  -- AES-256-GCM under SECRET_KEY, bound to this row's id
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

-- The queue. No foreign key to webhooks: ten thousand key checks a fan-out would cost more than the
-- insert; a claim finds the webhook gone and cancels.
create table pending_deliveries (
  id uuid primary key,
  event_id uuid not null,
  event text not null,
  webhook_id uuid not null,
  -- of the cycle under way: at most six attempts
  trigger text not null check (trigger in ('event', 'test', 'redelivery')),
  cycle_attempts integer not null default 0 check (cycle_attempts between 0 and 6),
  -- over all cycles
  attempt_count integer not null default 0 check (attempt_count >= cycle_attempts),
  due_at timestamptz(3) not null,
  -- set while an attempt is under way; only its holder may record the outcome
  lease_token uuid,
  leased_at timestamptz(3),
  leased_until timestamptz(3),
  created_at timestamptz(3) not null default clock_timestamp(),
  check (num_nonnulls(lease_token, leased_at, leased_until) in (0, 3))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01);
create index pending_deliveries_due on pending_deliveries (webhook_id, due_at) where lease_token is null;
create index pending_deliveries_next on pending_deliveries (due_at) where lease_token is null;
create index pending_deliveries_leased on pending_deliveries (leased_until) where lease_token is not null;
create index pending_deliveries_by_event on pending_deliveries (event_id);

-- Deliveries that have ended.
create table deliveries (
  id uuid primary key,
  event_id uuid not null,
  event text not null,
  webhook_id uuid not null,
  status text not null check (status in ('succeeded', 'failed', 'cancelled')),
  -- what deactivation cancelled can be recovered; what permission or the owner ended cannot
  cancelled_by text check (cancelled_by in ('deactivation', 'permission', 'deletion')),
  attempt_count integer not null check (attempt_count >= 0),
  created_at timestamptz(3) not null,
  completed_at timestamptz(3) not null default clock_timestamp(),
  check ((status = 'cancelled') = (cancelled_by is not null))
) partition by range (id);
create index deliveries_by_webhook on deliveries (webhook_id, id desc);

create table attempts (
  delivery_id uuid not null,
  number integer not null check (number >= 1),
  trigger text not null check (trigger in ('event', 'test', 'redelivery')),
  started_at timestamptz(3) not null,
  duration_ms integer not null check (duration_ms >= 0),
  status_code integer check (status_code between 100 and 999),
  error text check (error in ('dns', 'connect', 'tls', 'timeout', 'blocked', 'reset', 'interrupted')),
  -- bytea: a NUL or bad UTF-8 from a receiver must not fail the batch it is recorded with
  response_headers bytea,
  response_body bytea,
  primary key (delivery_id, number),
  check (num_nonnulls(status_code, error) >= 1)
) partition by range (delivery_id);

-- One partition a day and table, both days included. Cheap to repeat.
create function ensure_partitions(first_day date, last_day date) returns void language plpgsql set search_path from current as $$
declare
  parent text;
  day date;
  partition text;
begin
  -- Two processes that start at once must not create the same table.
  perform pg_advisory_xact_lock(70420002);
  foreach parent in array array['events', 'deliveries', 'attempts'] loop
    for day in select generate_series(first_day, last_day, interval '1 day')::date loop
      partition := parent || '_' || to_char(day, 'YYYYMMDD');
      if to_regclass(partition) is null then
        execute format('create table %I partition of %I for values from (%L) to (%L)', partition, parent,
          uuid_v7_floor(day::timestamp at time zone 'utc'),
          uuid_v7_floor((day + 1)::timestamp at time zone 'utc'));
      end if;
    end loop;
  end loop;
end $$;

-- Who may have an event: the one rule for fan-out, for every attempt, and for reading what was sent.
-- The role of an app's owner needs no look: a binding ends with it. A binding opens what happens from
-- then on, so that a new one revives nothing of an old one.
create function app_may_receive(audience text, event_org uuid, event_alliance uuid, event_created timestamptz, app uuid)
returns boolean language sql stable as $$
  select case audience
    when 'global' then event_org is null or exists (select from orgs where id = event_org and listed)
    when 'organization' then exists (
      select from bindings where app_id = app and org_id = event_org and created_at <= event_created)
    when 'alliance' then exists (
      select from bindings where app_id = app and alliance_id = event_alliance and created_at <= event_created)
    when 'webhook' then true
    else false
  end
$$;
