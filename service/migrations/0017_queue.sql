-- Waits for processes of an earlier version that are recording or claiming, so that nothing they write is overlooked.
lock table events, pending_deliveries, leases in access exclusive mode;

-- Publishing writes one row here; fan-out moves it to `events`, with its position and its deliveries. This table is small
-- and has no partitions, so neither looks at the history. `xid` is the transaction that published: all transactions
-- below a snapshot's xmin have ended, so a worker that has taken all it saw need not look below that xmin again.
create table outbox (
  xid xid8 not null default pg_current_xact_id(),
  id uuid not null,
  name text not null,
  audience text not null check (audience in ('global', 'organization', 'alliance')),
  org_id uuid,
  alliance_id uuid,
  data text not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (xid, id),
  check (audience <> 'organization' or (org_id is not null and alliance_id is null)),
  check (audience <> 'alliance' or (alliance_id is not null and org_id is null))
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1);

with moved as (
  delete from events where position is null and audience <> 'webhook'
  returning id, name, audience, org_id, alliance_id, data, created_at
)
insert into outbox (id, name, audience, org_id, alliance_id, data, created_at) select * from moved;
drop index events_to_fan_out;
-- A process of an earlier version would record events where no fan-out looks: its insert fails instead.
alter table events add constraint events_are_fanned_out check (audience = 'webhook' or position is not null) not valid;

-- A leased delivery is due when its lease ends, so one column orders both, and a table of leases is not needed.
-- `lease_token` tells one lease from another. A parked delivery waits for its webhook, which had no room when
-- it fell due; the others are claimed in the order of time and never meet it.
update pending_deliveries p set due_at = l.leased_until from leases l where l.token = p.lease_token;
drop table leases;
drop index pending_deliveries_due;
alter table pending_deliveries
  drop column failing,
  add column parked boolean not null default false,
  add check (not parked or lease_token is null),
  set (fillfactor = 90);
create index pending_deliveries_due on pending_deliveries (due_at) where lease_token is null and not parked;
create index pending_deliveries_parked on pending_deliveries (webhook_id, due_at) where parked;
create index pending_deliveries_leased on pending_deliveries (due_at) where lease_token is not null;

-- What recorded attempts say about the health of their webhooks, until it is added to `webhooks`. Recording an attempt
-- therefore locks no webhook, and a locked webhook delays nobody else. Successes of a healthy webhook appear once a second.
create table webhook_outcomes (
  xid xid8 not null default pg_current_xact_id(),
  seq bigint generated always as identity,
  webhook_id uuid not null,
  verdict text not null check (verdict in ('succeeded', 'retry', 'failed')),
  status_code integer,
  error text,
  -- The last response was 410.
  gone boolean not null,
  recorded_at timestamptz(3) not null default queue_now(),
  primary key (xid, seq)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1);
create index webhook_outcomes_by_webhook on webhook_outcomes (webhook_id, xid desc, seq desc);

-- The transaction that published an entry, for the same use as in the outbox.
alter table published_events add column xid xid8 not null default pg_current_xact_id();
drop index published_events_to_take;
create index published_events_to_take on published_events (xid, id) where rejected_at is null;

-- The processes that deliver, which share each webhook's limit.
create table workers (
  id uuid primary key,
  seen_at timestamptz(3) not null
);

-- `publish_event` as before, but it notifies nobody: transactions with a notification commit one after the other in the
-- whole cluster. Workers look for entries themselves.
create or replace function publish_event(name text, data text default null, org_slug text default null, alliance_slug text default null)
returns uuid language plpgsql volatile security definer set search_path = pg_catalog, orgdir, pg_temp as $$
#variable_conflict use_column
declare
  kind orgdir.event_kinds;
  needed text;
  given text;
  of_org uuid;
  of_alliance uuid;
  is_listed boolean;
  bytes constant integer := octet_length(publish_event.data);
  called_at constant timestamptz := clock_timestamp();
  -- A UUIDv7 whose twelve bits after the version are the microseconds: what one session publishes stays in its order.
  new_id constant uuid := encode(overlay(uuid_send(orgdir.uuid_v7(called_at)) placing
    substring(int4send(28672 + floor(mod(extract(epoch from called_at) * 1000, 1) * 4096)::integer) from 3 for 2)
    from 7 for 2), 'hex')::uuid;
  noun text;
begin
  select * into kind from orgdir.event_kinds k where k.name = publish_event.name;
  if not found then
    raise exception 'publish_event: there is no event %', coalesce(quote_literal(left(publish_event.name, 80)), 'null')
      using errcode = 'invalid_parameter_value', hint = (select 'Name one of ' || string_agg(k.name, ', ' order by k.name) || '.'
        from orgdir.event_kinds k where k.subject is not null);
  end if;
  if kind.subject is null then
    raise exception 'publish_event: % comes only from what it tells of, and cannot be published', kind.name
      using errcode = 'invalid_parameter_value', hint = 'The service records it itself; leave the call out.';
  end if;

  noun := case kind.subject when 'organization' then 'organisation' else 'alliance' end;
  if (case kind.subject when 'organization' then alliance_slug else org_slug end) is not null then
    raise exception 'publish_event: % is about an %, and % does not go with it', kind.name, noun,
      case kind.subject when 'organization' then 'alliance_slug' else 'org_slug' end
      using errcode = 'invalid_parameter_value', hint = format('Leave it null, and give %s.',
        case kind.subject when 'organization' then 'org_slug' else 'alliance_slug' end);
  end if;
  needed := case kind.subject when 'organization' then 'org_slug' else 'alliance_slug' end;
  given := case kind.subject when 'organization' then org_slug else alliance_slug end;
  if given is null then
    raise exception 'publish_event: % is about an %, and % is null', kind.name, noun, needed
      using errcode = 'invalid_parameter_value', hint = format('Give its slug, such as %s => ''acme-corporation''.', needed);
  end if;
  if kind.subject = 'organization' then
    select o.id, o.listed into of_org, is_listed from orgdir.orgs o where o.slug = given;
  else
    select a.id into of_alliance from orgdir.alliances a where a.slug = given;
  end if;
  if coalesce(of_org, of_alliance) is null then
    raise exception 'publish_event: there is no % %', noun, quote_literal(left(given, 80))
      using errcode = 'no_data_found', hint = 'Put it into the directory first, or give the slug that it has there.';
  end if;

  if not kind.supplied then
    if publish_event.data is not null then
      raise exception 'publish_event: the data of % is made by the service', kind.name
        using errcode = 'invalid_parameter_value', hint = 'Give null; everybody is told, so nothing private may come in.';
    end if;
    if not is_listed then
      raise exception 'publish_event: % is not listed, so it is not announced', given
        using errcode = 'invalid_parameter_value', hint = 'List it: that announces it by itself.';
    end if;
  else
    if publish_event.data is null then
      raise exception 'publish_event: % needs data: what happened, as a JSON object', kind.name
        using errcode = 'invalid_parameter_value', hint = 'The API reference shows what it holds, inside the ids and names that the service adds.';
    end if;
    if bytes > 65536 then
      raise exception 'publish_event: data has % bytes, and at most 65536 are taken', bytes
        using errcode = 'invalid_parameter_value', hint = 'Give an address where the rest can be read.';
    end if;
    begin
      perform publish_event.data::json;
    exception when invalid_text_representation then
      raise exception 'publish_event: data is not JSON' using errcode = 'invalid_parameter_value',
        hint = 'Build it with json_build_object, or check the text.';
    when statement_too_complex then
      raise exception 'publish_event: data is nested too deep' using errcode = 'invalid_parameter_value',
        hint = 'Give it fewer levels: no event has as many as sixteen.';
    end;
  end if;

  insert into orgdir.published_events (id, name, org_id, alliance_id, data, created_at)
  values (new_id, kind.name, of_org, of_alliance, publish_event.data, called_at);
  return new_id;
end $$;

-- How many attempts one of `workers` processes may have under way for a webhook, so that all together have `total`. The
-- remainder falls to different processes for different webhooks; `place` counts them from 0.
create function webhook_share(webhook uuid, total integer, place integer, workers integer) returns integer
language sql immutable parallel safe as $$
  select (total + (place + ('x' || right(webhook::text, 6))::bit(24)::integer) % workers) / workers
$$;
