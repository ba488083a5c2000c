-- Followers of the directory ask which entries have changed since a revision, and which are gone (docs/decisions/0046-changes.md).
-- A statement notes the entries whose public form it changes, next to what it notes for searches, and the end of the
-- transaction adds the revision. A worker moves the notes to `entry_changes`, which has each entry once.

-- What the public sees of an entry: `touch_org` and its siblings, and the notes.
create function org_differs(old orgs, new orgs) returns boolean language sql immutable set search_path from current as $$
  select (new.slug, new.name, new.tag, new.aliases, new.description, new.primary_activity, new.secondary_activity,
      new.commitment, new.recruiting, new.language, new.timezone, new.location, new.member_count,
      new.logo_url, new.banner_url, new.links, new.alliance_id, new.verified, new.status, new.founded_at)
    is distinct from
     (old.slug, old.name, old.tag, old.aliases, old.description, old.primary_activity, old.secondary_activity,
      old.commitment, old.recruiting, old.language, old.timezone, old.location, old.member_count,
      old.logo_url, old.banner_url, old.links, old.alliance_id, old.verified, old.status, old.founded_at)
$$;

create function alliance_differs(old alliances, new alliances) returns boolean language sql immutable set search_path from current as $$
  select (new.slug, new.name, new.tag, new.aliases, new.description, new.logo_url, new.banner_url, new.links, new.recruiting,
      new.org_count, new.member_count, new.status, new.founded_at)
    is distinct from
     (old.slug, old.name, old.tag, old.aliases, old.description, old.logo_url, old.banner_url, old.links, old.recruiting,
      old.org_count, old.member_count, old.status, old.founded_at)
$$;

create function blueprint_differs(old blueprints, new blueprints) returns boolean language sql immutable set search_path from current as $$
  select (new.slug, new.key, new.name, new.description, new.category, new.output, new.craft_time_seconds,
      new.ingredients, new.sources, new.version, new.active, new.retired_at)
    is distinct from
     (old.slug, old.key, old.name, old.description, old.category, old.output, old.craft_time_seconds,
      old.ingredients, old.sources, old.version, old.active, old.retired_at)
$$;

create or replace function touch_org() returns trigger language plpgsql set search_path from current as $$
begin
  new.updated_at := case when org_differs(old, new) then now() else old.updated_at end;
  return new;
end $$;

create or replace function touch_alliance() returns trigger language plpgsql set search_path from current as $$
begin
  new.updated_at := case when alliance_differs(old, new) then now() else old.updated_at end;
  return new;
end $$;

create or replace function touch_blueprint() returns trigger language plpgsql set search_path from current as $$
begin
  new.updated_at := case when blueprint_differs(old, new) then now() else old.updated_at end;
  return new;
end $$;

-- Null in notes for searches. A statement that changes entries in several ways makes several notes.
alter table search_changes
  add column entries uuid[],
  add column was_public boolean,
  add column is_public boolean;

-- The newest change of each entry that is or was public, for as long as somebody may ask for it.
create table entry_changes (
  kind text not null check (kind in ('orgs', 'alliances', 'blueprints')),
  id uuid not null,
  revision bigint not null,
  at timestamptz not null,
  primary key (kind, id)
);
create unique index entry_changes_by_revision on entry_changes (kind, revision, id);

-- What was deleted of `entry_changes`: nobody can ask for changes since an earlier revision.
create table entry_changes_dropped (
  kind text primary key,
  revision bigint not null
);
insert into entry_changes_dropped values ('orgs', 0), ('alliances', 0), ('blueprints', 0);

create function note_entries(changed_kind text, changed uuid[], was_public boolean, is_public boolean)
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
    insert into search_changes (kind, revision, at, written, adjusted, entries, was_public, is_public)
    values (changed_kind, own, clock_timestamp(), '{}', '{}', changed, was_public, is_public);
  end if;
end $$;

-- The arguments: whether the public may see a row, and the function that compares two.
create function note_entries_changed() returns trigger language plpgsql set search_path from current as $$
declare
  listed constant text := tg_argv[0];
begin
  if tg_op = 'INSERT' then
    execute format('select note_entries(%L, array_agg(id), false, true) from new_rows where %s', tg_table_name, listed);
  elsif tg_op = 'DELETE' then
    execute format('select note_entries(%L, array_agg(id), true, false) from old_rows where %s', tg_table_name, listed);
  else
    execute format(
      'select note_entries(%1$L, array_agg(id), was_public, is_public)
       from (
         select n.id, o.listed as was_public, n.listed as is_public
         from (select id, %2$s as listed, row(r.*)::%1$I as entry from new_rows r) n
         join (select id, %2$s as listed, row(r.*)::%1$I as entry from old_rows r) o on o.id = n.id
         where (o.listed or n.listed) and (o.listed <> n.listed or %3$I(o.entry, n.entry))
       ) as changed group by was_public, is_public', tg_table_name, listed, tg_argv[1]);
  end if;
  if tg_op = 'UPDATE' and tg_table_name = 'alliances' then
    -- Organisations contain these fields of their alliance.
    execute
      'select note_entries(''orgs'', array_agg(g.id), true, true)
       from new_rows n join old_rows o on o.id = n.id join orgs g on g.alliance_id = n.id and g.listed
       where (n.slug, n.name, n.tag) is distinct from (o.slug, o.name, o.tag)';
  end if;
  return null;
end $$;
create trigger note_entries_inserted after insert on orgs
  referencing new table as new_rows for each statement execute function note_entries_changed('listed');
create trigger note_entries_deleted after delete on orgs
  referencing old table as old_rows for each statement execute function note_entries_changed('listed');
create trigger note_entries_updated after update on orgs
  referencing old table as old_rows new table as new_rows
  for each statement execute function note_entries_changed('listed', 'org_differs');
create trigger note_entries_inserted after insert on alliances
  referencing new table as new_rows for each statement execute function note_entries_changed('true');
create trigger note_entries_deleted after delete on alliances
  referencing old table as old_rows for each statement execute function note_entries_changed('true');
create trigger note_entries_updated after update on alliances
  referencing old table as old_rows new table as new_rows
  for each statement execute function note_entries_changed('true', 'alliance_differs');
create trigger note_entries_inserted after insert on blueprints
  referencing new table as new_rows for each statement execute function note_entries_changed('true');
create trigger note_entries_deleted after delete on blueprints
  referencing old table as old_rows for each statement execute function note_entries_changed('true');
create trigger note_entries_updated after update on blueprints
  referencing old table as old_rows new table as new_rows
  for each statement execute function note_entries_changed('true', 'blueprint_differs');

create or replace function move_revision() returns trigger language plpgsql set search_path from current as $$
declare
  changed_scope constant text := tg_argv[0];
  setting constant text := 'orgdir.moved_' || changed_scope;
  moved_to bigint;
begin
  -- Once per transaction and scope, however many rows it changed.
  if current_setting(setting, true) = pg_current_xact_id()::text then
    return null;
  end if;
  perform set_config(setting, pg_current_xact_id()::text, true);
  -- One lock for all scopes: transactions that touch several cannot wait for each other in a circle.
  perform pg_advisory_xact_lock(70420001);
  if changed_scope in ('directory', 'blueprints') then
    with folded as (delete from list_totals returning kind, entries)
    insert into list_totals select kind, sum(entries) from folded group by kind;
  end if;
  update revisions set revision = revision + 1 where scope = changed_scope returning revision into moved_to;
  if changed_scope in ('directory', 'blueprints') then
    -- Kept for 15 minutes from now, not from the start of the transaction: the changes of a long one could be removed before
    -- a process had read them.
    update search_changes set revision = moved_to, at = clock_timestamp()
    where revision is null
      and kind = any(case changed_scope when 'blueprints' then '{blueprints}' else '{orgs,alliances}'::text[] end);
    -- A process that has not read for so long loads everything again. A worker removes the notes of entries.
    delete from search_changes where at < now() - interval '15 minutes' and entries is null;
  end if;
  perform pg_notify('orgdir_revision', changed_scope);
  return null;
end $$;
