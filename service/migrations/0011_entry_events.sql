-- Events that say that the public sees an entry differently, or no longer (docs/decisions/0046-changes.md). They are opt-in:
-- only webhooks that name them get them, and `event_kinds` does not have them, so that `GET /events` does not list them
-- and `publish_event` refuses them.

-- A test compares the names with the catalogue.
create or replace function takes_event(active boolean, events text[], name text) returns boolean
  language sql immutable parallel safe
  as $$
    select active and case
      when events is null then name <> all('{org.updated,org.removed,alliance.updated,alliance.removed,blueprint.updated,blueprint.removed}'::text[])
      else name = any(events)
    end
  $$;

-- Whether the change is not announced: an import, unless it is asked to, and a sync of member counts.
alter table search_changes add column silent boolean not null default false;

alter table entry_changes
  -- When an event of the entry is due: a second after the first change that none has shown. Null if none is.
  add column announce_at timestamptz,
  -- The revision that the newest event shows.
  add column announced bigint not null default 0;

create or replace function note_entries(changed_kind text, changed uuid[], was_public boolean, is_public boolean)
returns void language plpgsql set search_path from current as $$
declare
  changed_scope constant text := case changed_kind when 'blueprints' then 'blueprints' else 'directory' end;
  -- That of the notes of this transaction: null, unless it has moved the revision before its end.
  own constant bigint :=
    (select revision from revisions where scope = changed_scope
     and current_setting('orgdir.moved_' || changed_scope, true) is not distinct from pg_current_xact_id()::text);
  unseen uuid[];
begin
  if was_public and not is_public then
    -- What only this transaction made public was never seen, so nobody may learn that it is gone.
    unseen := array(
      select each from search_changes c cross join unnest(c.entries) each
      where c.kind = changed_kind and c.revision is not distinct from own and c.was_public <> c.is_public and each = any(changed)
      group by each having sum(case when c.is_public then 1 else -1 end) > 0);
    if unseen <> '{}' then
      update search_changes c set entries = array(select each from unnest(entries) each where each <> all(unseen))
      where c.kind = changed_kind and c.revision is not distinct from own and entries && unseen;
      changed := array(select each from unnest(changed) each where each <> all(unseen));
    end if;
  end if;
  if cardinality(changed) > 0 then
    insert into search_changes (kind, revision, at, written, adjusted, entries, was_public, is_public, silent)
    values (changed_kind, own, clock_timestamp(), '{}', '{}', changed, was_public, is_public,
      coalesce(current_setting('orgdir.silent', true) = 'on', false));
  end if;
end $$;

-- `hidden` keeps events out of what `GET /events` reads, which lists `org.created` only. An organisation may have thousands of
-- `org.updated`, and hiding it must not rewrite them.
create or replace function mark_hidden_events() returns trigger language plpgsql set search_path from current as $$
declare
  has_changed boolean;
begin
  if not exists (select from old_rows where not listed) and not exists (select from new_rows where not listed) then
    return null;
  end if;
  -- Planned each time, and to its end: a plan for few rows, or for the first that differs, compares each row with each.
  execute 'select coalesce(bool_or(o.listed <> n.listed), false) from old_rows o join new_rows n using (id)' into has_changed;
  -- Otherwise every change of an organisation would lock the partitions of events.
  if has_changed then
    execute
      'update events e set hidden = not n.listed
       from old_rows o join new_rows n using (id)
       where o.listed <> n.listed and e.audience = ''global'' and e.org_id = n.id and e.hidden = n.listed
         and e.name = ''org.created''';
  end if;
  return null;
end $$;

create or replace function mark_events_of_deleted() returns trigger language plpgsql set search_path from current as $$
begin
  update events e set hidden = true
  from old_rows o where e.audience = 'global' and e.org_id = o.id and not e.hidden and e.name = 'org.created';
  return null;
end $$;
