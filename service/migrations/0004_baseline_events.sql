-- Events: where they are recorded and published, their order, and who may have them. An event is written to `outbox`, and
-- fan-out moves it to `events`.

-- --- catalogue and clock -----------------------------------------------------------------------------

-- What `publish_event` must know of the catalogue. A test compares it with the catalogue in the code.
create table event_kinds (
  name text collate "C" primary key,
  -- Whose slug it needs; null: the service alone records it.
  subject text check (subject in ('organization', 'alliance')),
  -- Whether the publisher supplies what happened; otherwise the service makes all of `data`.
  supplied boolean not null,
  check (subject is not null or not supplied)
);
insert into event_kinds values
  ('org.created', 'organization', false),
  ('alliance.created', 'alliance', false),
  ('blueprint.sync.completed', null, false),
  ('chat.sync.completed', null, false),
  ('system.maintenance.enabled', null, false),
  ('system.maintenance.disabled', null, false),
  ('application.created', 'organization', true),
  ('event.created', 'organization', true),
  ('resource.request.created', 'alliance', true),
  ('resource.offer.created', 'alliance', true);

-- The queue's one clock: when a delivery is due, and when a lease runs out. All workers read the database's, so their own
-- clocks need not agree. A test that must not wait replaces this function in its own database.
create function queue_now() returns timestamptz language sql volatile parallel safe as $$
  select clock_timestamp()
$$;

-- --- outbox ------------------------------------------------------------------------------------------

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
  -- The W3C trace context in which the event was recorded, for its deliveries: null unless it is traced.
  traceparent text,
  created_at timestamptz not null default clock_timestamp(),
  primary key (xid, id),
  check (audience <> 'organization' or (org_id is not null and alliance_id is null)),
  check (audience <> 'alliance' or (alliance_id is not null and org_id is null))
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1);

-- A publication that may be repeated: the same key with the same content is one event.
create table idempotency_keys (
  key text collate "C" primary key check (length(key) between 1 and 255),
  -- SHA-256 of what was published.
  content bytea not null check (length(content) = 32),
  event_id uuid not null,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null check (expires_at > created_at)
);
create index idempotency_keys_by_end on idempotency_keys (expires_at);

-- --- publishing by SQL -------------------------------------------------------------------------------

-- What came by `publish_event` and is not an event yet: it has to be rendered and compared with the catalogue, which SQL
-- cannot do. What passes moves to `outbox`; what fails stays, with the reason, until retention.
create table published_events (
  id uuid primary key,
  -- As in the outbox: looks for new rows begin at the oldest transaction that was still open at the last look, and not at
  -- rows that are gone but in somebody's snapshot.
  xid xid8 not null default pg_current_xact_id(),
  name text collate "C" not null,
  org_id uuid,
  alliance_id uuid,
  -- As it was given; null if the service makes it.
  data text check (octet_length(data) <= 65536),
  created_at timestamptz not null,
  rejected_at timestamptz(3),
  reason text check (length(reason) <= 2000),
  check (num_nonnulls(org_id, alliance_id) = 1),
  check ((rejected_at is null) = (reason is null))
);
create index published_events_to_take on published_events (xid, id) where rejected_at is null;
create index published_events_rejected on published_events (rejected_at, id) where rejected_at is not null;

-- For a platform on the same PostgreSQL, in its own transaction. It runs with its owner's rights: everything is named
-- with its schema or found in PostgreSQL's own, and nothing of what is given becomes part of a statement. It notifies nobody,
-- because transactions with a notification commit one after the other in the whole cluster. Workers look for entries
-- themselves.
create function publish_event(name text, data text default null, org_slug text default null, alliance_slug text default null)
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
  new_id constant uuid := orgdir.uuid_v7(called_at);
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

create function publish_event(name text, data json, org_slug text default null, alliance_slug text default null)
returns uuid language sql volatile as $$
  select orgdir.publish_event(name, data::text, org_slug, alliance_slug)
$$;
create function publish_event(name text, data jsonb, org_slug text default null, alliance_slug text default null)
returns uuid language sql volatile as $$
  select orgdir.publish_event(name, data::text, org_slug, alliance_slug)
$$;

-- --- events ------------------------------------------------------------------------------------------

-- In partitions by day, which retention drops whole (`ensure_partitions`).
create table events (
  id uuid primary key,
  name text not null,
  -- Who may get it: everyone, the apps bound to org_id or alliance_id, or one webhook (its test).
  audience text not null check (audience in ('global', 'organization', 'alliance', 'webhook')),
  -- What it is about; of a global event, what must still be visible when it is sent.
  org_id uuid,
  alliance_id uuid,
  -- Text, never jsonb: the bytes that were recorded are the bytes that are sent.
  data text not null,
  traceparent text,
  -- To the microsecond, as `bindings.created_at`.
  created_at timestamptz not null default clock_timestamp(),
  -- Given at fan-out by the one holder of its lock, so that a late commit is never skipped. Null for tests.
  position bigint,
  fanned_out_at timestamptz not null default clock_timestamp(),
  -- Whether the organisation was listed at fan-out.
  org_listed boolean,
  -- The organisation of the `org.created` is unlisted or deleted. Only a hint that keeps such events out of an index: one that
  -- is stored while its organisation changes may lack it, and `may_receive` decides in any case.
  hidden boolean not null default false,
  check (audience <> 'organization' or (org_id is not null and alliance_id is null)),
  check (audience <> 'alliance' or (alliance_id is not null and org_id is null)),
  check (audience <> 'webhook' or position is null),
  constraint events_are_fanned_out check (audience = 'webhook' or position is not null)
) partition by range (id);
create index events_by_position on events (position) where position is not null;
-- The events that an app may have, in their order: those for everybody, and those of an organisation or alliance. `GET /events`
-- reads no others by it. The zeros stand for everybody.
create index events_visible on events (
  name,
  (case audience when 'global' then '00000000-0000-0000-0000-000000000000'::uuid else coalesce(org_id, alliance_id) end),
  position
) where position is not null and not hidden;
-- The events of an organisation that is hidden or listed again.
create index events_announcing on events (org_id) where audience = 'global' and org_id is not null;

create sequence event_positions;

create function mark_hidden_event() returns trigger language plpgsql set search_path from current as $$
begin
  -- A lock, so that whoever lists it again comes later and sees this event; without waiting, so that fan-out does not either.
  new.hidden := exists (select from orgs where id = new.org_id and not listed for share skip locked)
    or not exists (select from orgs where id = new.org_id);
  return new;
end $$;
create trigger mark_hidden_event before insert on events for each row
  when (new.audience = 'global' and new.org_id is not null and new.org_listed is not true)
  execute function mark_hidden_event();

create function mark_hidden_events() returns trigger language plpgsql set search_path from current as $$
begin
  -- Otherwise every change of an organisation would lock the partitions of events.
  if not exists (select from old_rows o join new_rows n using (id) where o.listed <> n.listed) then
    return null;
  end if;
  update events e set hidden = not n.listed
  from old_rows o join new_rows n using (id)
  where o.listed <> n.listed and e.audience = 'global' and e.org_id = n.id and e.hidden = n.listed;
  return null;
end $$;
create trigger mark_hidden_events after update on orgs referencing old table as old_rows new table as new_rows
  for each statement execute function mark_hidden_events();

create function mark_events_of_deleted() returns trigger language plpgsql set search_path from current as $$
begin
  update events e set hidden = true
  from old_rows o where e.audience = 'global' and e.org_id = o.id and not e.hidden;
  return null;
end $$;
create trigger mark_events_of_deleted after delete on orgs referencing old table as old_rows
  for each statement execute function mark_events_of_deleted();

-- --- who may have an event ---------------------------------------------------------------------------

-- The one rule, for fan-out, for every attempt, and for reading what was sent. It looks nothing up, so that PostgreSQL inlines
-- it: a call for each delivery would cost more than its row. The role of an app's owner needs no look: a binding ends with it.
-- A binding opens what happens from then on, so that a new one revives nothing of an old one.
create function may_receive(
  audience text, event_org uuid, event_alliance uuid, event_created timestamptz, org_listed boolean,
  bound_org uuid, bound_alliance uuid, bound_at timestamptz
) returns boolean language sql immutable parallel safe as $$
  select case audience
    when 'global' then event_org is null or coalesce(org_listed, false)
    when 'organization' then coalesce(bound_org = event_org and bound_at <= event_created, false)
    when 'alliance' then coalesce(bound_alliance = event_alliance and bound_at <= event_created, false)
    when 'webhook' then true
    else false
  end
$$;

-- The same for one event and one app, with the look-ups.
create function app_may_receive(audience text, event_org uuid, event_alliance uuid, event_created timestamptz, app uuid)
returns boolean language sql stable as $$
  select may_receive(audience, event_org, event_alliance, event_created,
    (select listed from orgs where id = event_org), b.org_id, b.alliance_id, b.created_at)
  from (values (app)) as asked(app_id) left join bindings b on b.app_id = asked.app_id
$$;

-- Whether a webhook with these settings gets an event of this name, if its app may have it. PostgreSQL inlines it.
create function takes_event(active boolean, events text[], name text) returns boolean
  language sql immutable parallel safe
  as $$ select active and (events is null or name = any(events)) $$;
