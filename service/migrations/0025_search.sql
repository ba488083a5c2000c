-- Searches run in the memory of each process, which reads these tables and then what changes in them. They have unlisted
-- organisations too. The tables get new names, so that an old process cannot find those. `ordinal` identifies an entry in
-- memory.
drop table orgs_search, alliances_search, blueprints_search;
create table searchable_orgs (
  id uuid primary key references orgs on delete cascade,
  ordinal integer generated always as identity unique,
  members bigint not null,
  listed boolean not null,
  name_sort text collate "C" not null,
  search_text text collate "C" not null
);
create table searchable_alliances (
  id uuid primary key references alliances on delete cascade,
  ordinal integer generated always as identity unique,
  members bigint not null,
  listed boolean not null,
  name_sort text collate "C" not null,
  search_text text collate "C" not null
);
create table searchable_blueprints (
  id uuid primary key references blueprints on delete cascade,
  ordinal integer generated always as identity unique,
  members bigint not null,
  listed boolean not null,
  name_sort text collate "C" not null,
  search_text text collate "C" not null
);
insert into searchable_orgs (id, members, listed, name_sort, search_text)
select id, member_count, listed, name_sort, search_text from orgs;
insert into searchable_alliances (id, members, listed, name_sort, search_text)
select id, member_count, true, name_sort, search_text from alliances;
insert into searchable_blueprints (id, members, listed, name_sort, search_text)
select id, 0, true, name_sort, search_text from blueprints;

-- The ordinals that statements changed. The end of the transaction adds its revision, and removes old rows.
create table search_changes (
  kind text not null check (kind in ('orgs', 'alliances', 'blueprints')),
  revision bigint,
  at timestamptz not null default now(),
  -- added, removed, or with other texts
  written integer[] not null,
  -- with the same texts, but another number of members or another `listed`
  adjusted integer[] not null
);
create index search_changes_by_revision on search_changes (kind, revision);
create index search_changes_by_time on search_changes (at);

create function note_search_changes(changed_kind text, written integer[], adjusted integer[])
returns void language plpgsql set search_path from current as $$
declare
  changed_scope constant text := case changed_kind when 'blueprints' then 'blueprints' else 'directory' end;
  -- Set if the transaction has moved the revision before its end.
  moved constant boolean :=
    current_setting('orgdir.moved_' || changed_scope, true) is not distinct from pg_current_xact_id()::text;
begin
  if coalesce(cardinality(written), 0) + coalesce(cardinality(adjusted), 0) > 0 then
    insert into search_changes (kind, revision, written, adjusted)
    select changed_kind, case when moved then (select revision from revisions where scope = changed_scope) end,
      coalesce(written, '{}'), coalesce(adjusted, '{}');
  end if;
end $$;

create function note_search_inserted() returns trigger language plpgsql set search_path from current as $$
begin
  perform note_search_changes(tg_argv[0], array_agg(ordinal), null) from new_rows;
  return null;
end $$;
create function note_search_deleted() returns trigger language plpgsql set search_path from current as $$
begin
  perform note_search_changes(tg_argv[0], array_agg(ordinal), null) from old_rows;
  return null;
end $$;
create function note_search_updated() returns trigger language plpgsql set search_path from current as $$
begin
  perform note_search_changes(tg_argv[0], array_agg(n.ordinal) filter (where is_written),
    array_agg(n.ordinal) filter (where not is_written))
  from (
    select n.ordinal, (n.name_sort, n.search_text) is distinct from (o.name_sort, o.search_text) as is_written
    from new_rows n join old_rows o on o.id = n.id
  ) n;
  return null;
end $$;

create trigger note_inserted after insert on searchable_orgs
  referencing new table as new_rows for each statement execute function note_search_inserted('orgs');
create trigger note_deleted after delete on searchable_orgs
  referencing old table as old_rows for each statement execute function note_search_deleted('orgs');
create trigger note_updated after update on searchable_orgs
  referencing old table as old_rows new table as new_rows
  for each statement execute function note_search_updated('orgs');
create trigger note_inserted after insert on searchable_alliances
  referencing new table as new_rows for each statement execute function note_search_inserted('alliances');
create trigger note_deleted after delete on searchable_alliances
  referencing old table as old_rows for each statement execute function note_search_deleted('alliances');
create trigger note_updated after update on searchable_alliances
  referencing old table as old_rows new table as new_rows
  for each statement execute function note_search_updated('alliances');
create trigger note_inserted after insert on searchable_blueprints
  referencing new table as new_rows for each statement execute function note_search_inserted('blueprints');
create trigger note_deleted after delete on searchable_blueprints
  referencing old table as old_rows for each statement execute function note_search_deleted('blueprints');
create trigger note_updated after update on searchable_blueprints
  referencing old table as old_rows new table as new_rows
  for each statement execute function note_search_updated('blueprints');

-- The arguments: which rows may be found, and their numbers of members. An entry that stays keeps its ordinal.
-- The arguments: whether the public may find a row, and its number of members. An entry that stays keeps its ordinal.
create or replace function keep_search() returns trigger language plpgsql set search_path from current as $$
declare
  target constant text := 'searchable_' || tg_table_name;
  listed constant text := tg_argv[0];
  members constant text := tg_argv[1];
begin
  if tg_op = 'INSERT' then
    execute format(
      'insert into %1$I (id, members, listed, name_sort, search_text)
       select id, %3$s, %2$s, name_sort, search_text from new_rows', target, listed, members);
    return null;
  end if;
  execute format(
    'update %1$I s set members = n.members, listed = n.listed, name_sort = n.name_sort, search_text = n.search_text
     from (select id, %3$s as members, %2$s as listed, name_sort, search_text from new_rows) n
     where s.id = n.id and (s.members, s.listed, s.name_sort, s.search_text)
       is distinct from (n.members, n.listed, n.name_sort, n.search_text)', target, listed, members);
  return null;
end $$;
drop trigger keep_search_inserted on orgs;
create trigger keep_search_inserted after insert on orgs
  referencing new table as new_rows for each statement execute function keep_search('listed', 'member_count');
drop trigger keep_search_updated on orgs;
create trigger keep_search_updated after update on orgs
  referencing new table as new_rows for each statement execute function keep_search('listed', 'member_count');
drop trigger keep_search_inserted on alliances;
create trigger keep_search_inserted after insert on alliances
  referencing new table as new_rows for each statement execute function keep_search('true', 'member_count');
drop trigger keep_search_updated on alliances;
create trigger keep_search_updated after update on alliances
  referencing new table as new_rows for each statement execute function keep_search('true', 'member_count');
drop trigger keep_search_inserted on blueprints;
create trigger keep_search_inserted after insert on blueprints
  referencing new table as new_rows for each statement execute function keep_search('true', '0');
drop trigger keep_search_updated on blueprints;
create trigger keep_search_updated after update on blueprints
  referencing new table as new_rows for each statement execute function keep_search('true', '0');

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
    update search_changes set revision = moved_to
    where revision is null
      and kind = any(case changed_scope when 'blueprints' then '{blueprints}' else '{orgs,alliances}'::text[] end);
    -- A process that has not read for so long loads everything again.
    delete from search_changes where at < now() - interval '15 minutes';
  end if;
  perform pg_notify('orgdir_revision', changed_scope);
  return null;
end $$;
