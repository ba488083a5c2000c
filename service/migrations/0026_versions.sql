-- The settings of webhooks and bindings by time, so that an event's routing can be explained later. The triggers write in the
-- transaction that makes the change. Waits for processes of an earlier version that are making one.
lock table apps, webhooks, bindings in share row exclusive mode;

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

-- A row without organisation and alliance: the app was not bound then. So a time without a row is unknown.
create table binding_versions (
  id bigint primary key generated always as identity,
  app_id uuid not null references apps on delete cascade,
  org_id uuid,
  alliance_id uuid,
  bound_at timestamptz,
  valid_from timestamptz not null default clock_timestamp(),
  valid_to timestamptz check (valid_to >= valid_from),
  check (num_nonnulls(org_id, alliance_id) = num_nonnulls(bound_at))
);
create index binding_versions_by_app on binding_versions (app_id, valid_from);
create unique index binding_versions_current on binding_versions (app_id) where valid_to is null;

insert into webhook_versions (webhook_id, active, events) select id, active, events from webhooks order by id;
insert into binding_versions (app_id, org_id, alliance_id, bound_at)
select a.id, b.org_id, b.alliance_id, b.created_at from apps a left join bindings b on b.app_id = a.id order by a.id;

create function keep_webhook_version() returns trigger language plpgsql set search_path from current as $$
declare
  changed_at constant timestamptz := clock_timestamp();
begin
  -- A clock that was put back must not end an interval before it began.
  update webhook_versions set valid_to = greatest(changed_at, valid_from) where webhook_id = new.id and valid_to is null;
  insert into webhook_versions (webhook_id, active, events, valid_from) values (new.id, new.active, new.events, changed_at);
  return null;
end $$;
create trigger keep_version_created after insert on webhooks for each row execute function keep_webhook_version();
create trigger keep_version_changed after update on webhooks for each row
  when ((old.active, old.events) is distinct from (new.active, new.events)) execute function keep_webhook_version();

create function keep_binding_version() returns trigger language plpgsql set search_path from current as $$
declare
  changed_at constant timestamptz := clock_timestamp();
  app constant uuid := case when tg_op = 'DELETE' then old.app_id else new.app_id end;
begin
  update binding_versions set valid_to = greatest(changed_at, valid_from) where app_id = app and valid_to is null;
  -- The binding of a deleted app leaves nothing.
  insert into binding_versions (app_id, org_id, alliance_id, bound_at, valid_from)
  select a.id, b.org_id, b.alliance_id, b.created_at, changed_at
  from apps a left join bindings b on b.app_id = a.id where a.id = app;
  return null;
end $$;
create trigger keep_version after insert or delete on bindings for each row execute function keep_binding_version();

create function start_binding_versions() returns trigger language plpgsql set search_path from current as $$
begin
  insert into binding_versions (app_id) values (new.id);
  return null;
end $$;
create trigger start_binding_versions after insert on apps for each row execute function start_binding_versions();

-- When the event was fanned out, and whether its organisation was listed then; null for earlier events. The default is set
-- separately, so that it does not rewrite the table.
alter table events add column fanned_out_at timestamptz, add column org_listed boolean;
alter table events alter column fanned_out_at set default clock_timestamp();

-- Whether a webhook with these settings gets an event of this name, if its app may have it. PostgreSQL inlines it.
create function takes_event(active boolean, events text[], name text) returns boolean
  language sql immutable parallel safe
  as $$ select active and (events is null or name = any(events)) $$;
