-- `GET /events` finds the events that an app may have by an index, without reading those of others.

-- The organisation of the `org.created` is unlisted or deleted. Only a hint that keeps such events out of the index: one that
-- is stored while its organisation changes may lack it, and `may_receive` decides in any case.
alter table events add column hidden boolean not null default false;

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

-- The last event that was fanned out before the binding. The app may have none up to it.
alter table bindings add column after_position bigint not null default 0;

create function note_position() returns trigger language plpgsql set search_path from current as $$
begin
  new.after_position := coalesce((
    select position from events
    where position is not null and coalesce(fanned_out_at, created_at) < new.created_at
    order by position desc limit 1
  ), 0);
  return new;
end $$;
create trigger note_position before insert on bindings for each row execute function note_position();
