-- Webhooks may want only some of the events to which they are subscribed (docs/decisions/0056-filters.md).

alter table webhooks
  -- As the owner gave them, by the name of the event.
  add column filters json,
  -- The same as one condition on the data of an event whose name is $event. Null: every event passes.
  add column filter_path jsonpath;
alter table webhook_versions add column filter_path jsonpath;

create or replace function keep_webhook_version() returns trigger language plpgsql set search_path from current as $$
declare
  -- A clock that was put back must not make intervals overlap.
  changed_at constant timestamptz := greatest(clock_timestamp(),
    (select valid_from from webhook_versions where webhook_id = new.id and valid_to is null));
begin
  update webhook_versions set valid_to = changed_at where webhook_id = new.id and valid_to is null;
  insert into webhook_versions (webhook_id, active, events, filter_path, valid_from)
  values (new.id, new.active, new.events, new.filter_path, changed_at);
  return null;
end $$;
create or replace trigger keep_version_changed after update on webhooks for each row
  when ((old.active, old.events, old.filter_path::text) is distinct from (new.active, new.events, new.filter_path::text))
  execute function keep_webhook_version();

-- What filters read of an event; null if it is not for jsonb, such as a number out of its range.
create function filterable(data text) returns jsonb language plpgsql immutable as $$
begin
  return data::jsonb;
exception when data_exception or program_limit_exceeded then
  return null;
end $$;

-- Whether a filter lets the event pass. An error counts as no. PostgreSQL inlines it.
create function passes_filter(filter_path jsonpath, name text, data jsonb) returns boolean language sql stable parallel safe as $$
  select filter_path is null
    or coalesce(jsonb_path_match(coalesce(data, 'null'), filter_path, jsonb_build_object('event', name), true), false)
$$;

-- The newest migration of which the worker's version knows. Null: 1.0.0.
alter table workers add column migration integer;
