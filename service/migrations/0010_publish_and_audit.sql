-- What the platform feeds in from beside: events by SQL, publications that may be repeated; and who changed what.

-- Append-only. No foreign keys: an entry outlives what it tells of.
create table audit_log (
  id bigint generated always as identity primary key,
  at timestamptz(3) not null default clock_timestamp(),
  actor_kind text not null check (actor_kind in ('key', 'user', 'cli', 'system')),
  actor_id text,
  actor_name text not null,
  action text not null check (action ~ '^[a-z]+\.[a-z_]+$'),
  subject_kind text not null,
  subject_id text,
  app_id uuid,
  details jsonb not null default '{}'
);
create index audit_log_by_time on audit_log (at desc, id desc);
create index audit_log_by_app on audit_log (app_id, at desc, id desc) where app_id is not null;

create function refuse_audit_change() returns trigger language plpgsql set search_path from current as $$
begin
  raise exception 'the audit log is append-only: % is refused', lower(tg_op) using errcode = 'insufficient_privilege';
end $$;
create trigger append_only before update or delete or truncate on audit_log
  for each statement execute function refuse_audit_change();

-- On whose behalf this transaction changes things (`nameActor`); where nobody said so, the role that is connected.
create function current_actor() returns jsonb language sql stable set search_path from current as $$
  select coalesce(nullif(current_setting('orgdir.actor', true), '')::jsonb,
    jsonb_build_object('kind', 'system', 'name', 'database role ' || session_user))
$$;

create function audit_managers() returns trigger language plpgsql set search_path from current as $$
declare
  subject_kind constant text := tg_argv[0];
  actor constant jsonb := current_actor();
begin
  -- The names are those of the time: the subject itself may be gone by now, and the role with it.
  execute format(
    'insert into audit_log (actor_kind, actor_id, actor_name, action, subject_kind, subject_id, details)
     select $1->>''kind'', $1->>''id'', $1->>''name'', $2, $3, c.%1$I, jsonb_strip_nulls(jsonb_build_object(''email'', c.email, ''slug'', s.slug))
     from changed c left join %2$I s on s.id = c.%1$I order by c.%1$I, c.email',
    tg_argv[1], tg_argv[2])
  using actor, case tg_op when 'INSERT' then 'manager.added' else 'manager.removed' end, subject_kind;
  return null;
end $$;
create trigger audit_added after insert on org_managers referencing new table as changed
  for each statement execute function audit_managers('organization', 'org_id', 'orgs');
create trigger audit_removed after delete on org_managers referencing old table as changed
  for each statement execute function audit_managers('organization', 'org_id', 'orgs');
create trigger audit_added after insert on alliance_managers referencing new table as changed
  for each statement execute function audit_managers('alliance', 'alliance_id', 'alliances');
create trigger audit_removed after delete on alliance_managers referencing old table as changed
  for each statement execute function audit_managers('alliance', 'alliance_id', 'alliances');

create function audit_bindings() returns trigger language plpgsql set search_path from current as $$
declare
  actor constant jsonb := current_actor();
begin
  insert into audit_log (actor_kind, actor_id, actor_name, action, subject_kind, subject_id, app_id, details)
  select actor->>'kind', actor->>'id', actor->>'name',
    case tg_op when 'INSERT' then 'binding.created' else 'binding.ended' end,
    case when c.org_id is null then 'alliance' else 'organization' end, coalesce(c.org_id, c.alliance_id), c.app_id,
    jsonb_strip_nulls(jsonb_build_object('slug', coalesce(o.slug, a.slug), 'owner', c.owner_email, 'cause', case
      when tg_op = 'INSERT' then null
      when not exists (select from apps where id = c.app_id) then 'app deleted'
      when c.org_id is not null and o.id is null then 'organization deleted'
      when c.alliance_id is not null and a.id is null then 'alliance deleted'
      when exists (select from org_managers m where m.org_id = c.org_id and m.email = c.owner_email)
        or exists (select from alliance_managers m where m.alliance_id = c.alliance_id and m.email = c.owner_email)
        then 'unbound'
      else 'role lost'
    end))
  from changed c left join orgs o on o.id = c.org_id left join alliances a on a.id = c.alliance_id
  order by c.app_id;
  return null;
end $$;
create trigger audit_created after insert on bindings referencing new table as changed
  for each statement execute function audit_bindings();
create trigger audit_ended after delete on bindings referencing old table as changed
  for each statement execute function audit_bindings();

-- A publication that may be repeated: the same key with the same content is one event.
create table idempotency_keys (
  key text collate "C" primary key check (length(key) between 1 and 255),
  -- SHA-256 of what was published
  content bytea not null check (length(content) = 32),
  event_id uuid not null,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null check (expires_at > created_at)
);
create index idempotency_keys_by_end on idempotency_keys (expires_at);

-- What `publish_event` must know of the catalogue. A test holds the two equal.
create table event_kinds (
  name text collate "C" primary key,
  -- whose slug it needs; null: it comes only from what it tells of
  subject text check (subject in ('organization', 'alliance')),
  -- whether the publisher supplies what happened; else the service makes all of `data`
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

-- What came by `publish_event` and is not an event yet: it has to be rendered and held against the catalogue, which
-- SQL cannot do. What passes moves to `events`; what fails stays, with the reason, until retention.
create table published_events (
  id uuid primary key,
  name text collate "C" not null,
  org_id uuid,
  alliance_id uuid,
  -- as it was given; null where the service makes it
  data text check (octet_length(data) <= 65536),
  created_at timestamptz not null,
  rejected_at timestamptz(3),
  reason text check (length(reason) <= 2000),
  check (num_nonnulls(org_id, alliance_id) = 1),
  check ((rejected_at is null) = (reason is null))
);
create index published_events_to_take on published_events (id) where rejected_at is null;
create index published_events_rejected on published_events (rejected_at, id) where rejected_at is not null;

-- For a platform on the same PostgreSQL, in its own transaction. It runs with its owner's rights: everything is named
-- with its schema or found in PostgreSQL's own, and nothing of what is given becomes part of a statement.
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
    end;
  end if;

  insert into orgdir.published_events (id, name, org_id, alliance_id, data, created_at)
  values (new_id, kind.name, of_org, of_alliance, publish_event.data, called_at);
  perform pg_notify('orgdir_published', '');
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

-- PostgreSQL lets everybody call a new function. Called after every migration, so that this holds for later ones too,
-- and so that a role which an administrator made meanwhile gets what it is for.
create function settle_privileges() returns void language plpgsql set search_path from current as $$
declare
  routine regprocedure;
begin
  for routine in
    select p.oid from pg_proc p
    where p.pronamespace = 'orgdir'::regnamespace and has_function_privilege('public', p.oid, 'execute')
      and pg_has_role(p.proowner, 'usage')
      and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
  loop
    execute format('revoke execute on function %s from public', routine);
  end loop;
  if not exists (select from pg_roles where rolname = 'orgdir_publisher') then
    return;
  end if;
  if not has_schema_privilege('orgdir_publisher', 'orgdir', 'usage') then
    grant usage on schema orgdir to orgdir_publisher;
  end if;
  for routine in
    select p.oid from pg_proc p
    where p.pronamespace = 'orgdir'::regnamespace and p.proname = 'publish_event'
      and not has_function_privilege('orgdir_publisher', p.oid, 'execute')
  loop
    execute format('grant execute on function %s to orgdir_publisher', routine);
  end loop;
end $$;

-- Roles belong to the whole server: another database of it may have made this one, at this very moment too.
do $$
begin
  if not exists (select from pg_roles where rolname = 'orgdir_publisher') then
    create role orgdir_publisher nologin;
  end if;
exception
  when duplicate_object or unique_violation then
    null;
  when insufficient_privilege then
    raise notice 'the role orgdir_publisher is left to an administrator: create role orgdir_publisher nologin; then run orgdir migrate';
end $$;
select settle_privileges();
