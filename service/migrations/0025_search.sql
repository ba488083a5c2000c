-- Searches run in the memory of each process, which reads the rows of these tables and then what changes in them.
-- `ordinal` identifies an entry there.
drop index orgs_by_text;
drop index alliances_by_text;
drop index blueprints_by_text;
alter table orgs_search
  add column ordinal integer generated always as identity,
  add column members bigint not null default 0;
alter table alliances_search
  add column ordinal integer generated always as identity,
  add column members bigint not null default 0;
alter table blueprints_search
  add column ordinal integer generated always as identity,
  add column members bigint not null default 0;
update orgs_search s set members = o.member_count from orgs o where o.id = s.id;
update alliances_search s set members = a.member_count from alliances a where a.id = s.id;
create unique index orgs_search_by_ordinal on orgs_search (ordinal);
create unique index alliances_search_by_ordinal on alliances_search (ordinal);
create unique index blueprints_search_by_ordinal on blueprints_search (ordinal);

-- The ordinals that statements changed. The end of the transaction adds its revision, and removes old rows.
create table search_changes (
  kind text not null check (kind in ('orgs', 'alliances', 'blueprints')),
  revision bigint,
  at timestamptz not null default now(),
  -- added, removed, or with other texts
  written integer[] not null,
  -- with another number of members only
  recounted integer[] not null
);
create index search_changes_by_revision on search_changes (kind, revision);
create index search_changes_by_time on search_changes (at);

create function note_search_changes(changed_kind text, written integer[], recounted integer[])
returns void language plpgsql set search_path from current as $$
declare
  changed_scope constant text := case changed_kind when 'blueprints' then 'blueprints' else 'directory' end;
  -- Set if the transaction has moved the revision before its end.
  moved constant boolean :=
    current_setting('orgdir.moved_' || changed_scope, true) is not distinct from pg_current_xact_id()::text;
begin
  if coalesce(cardinality(written), 0) + coalesce(cardinality(recounted), 0) > 0 then
    insert into search_changes (kind, revision, written, recounted)
    select changed_kind, case when moved then (select revision from revisions where scope = changed_scope) end,
      coalesce(written, '{}'), coalesce(recounted, '{}');
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

create trigger note_inserted after insert on orgs_search
  referencing new table as new_rows for each statement execute function note_search_inserted('orgs');
create trigger note_deleted after delete on orgs_search
  referencing old table as old_rows for each statement execute function note_search_deleted('orgs');
create trigger note_updated after update on orgs_search
  referencing old table as old_rows new table as new_rows
  for each statement execute function note_search_updated('orgs');
create trigger note_inserted after insert on alliances_search
  referencing new table as new_rows for each statement execute function note_search_inserted('alliances');
create trigger note_deleted after delete on alliances_search
  referencing old table as old_rows for each statement execute function note_search_deleted('alliances');
create trigger note_updated after update on alliances_search
  referencing old table as old_rows new table as new_rows
  for each statement execute function note_search_updated('alliances');
create trigger note_inserted after insert on blueprints_search
  referencing new table as new_rows for each statement execute function note_search_inserted('blueprints');
create trigger note_deleted after delete on blueprints_search
  referencing old table as old_rows for each statement execute function note_search_deleted('blueprints');
create trigger note_updated after update on blueprints_search
  referencing old table as old_rows new table as new_rows
  for each statement execute function note_search_updated('blueprints');

-- The arguments: which rows may be found, and their numbers of members. An entry that stays keeps its ordinal.
create or replace function keep_search() returns trigger language plpgsql set search_path from current as $$
declare
  target constant text := tg_table_name || '_search';
  findable constant text := tg_argv[0];
  members constant text := tg_argv[1];
begin
  if tg_op = 'INSERT' then
    execute format(
      'insert into %1$I (id, name_sort, search_text, members) select id, name_sort, search_text, %3$s
       from new_rows where %2$s', target, findable, members);
    return null;
  end if;
  execute format('delete from %1$I s using new_rows n where s.id = n.id and not %2$s', target, findable);
  execute format(
    'update %1$I s set name_sort = n.name_sort, search_text = n.search_text, members = n.members
     from (select id, name_sort, search_text, %3$s as members from new_rows) n
     where s.id = n.id and (s.name_sort, s.search_text, s.members)
       is distinct from (n.name_sort, n.search_text, n.members)', target, findable, members);
  execute format(
    'insert into %1$I (id, name_sort, search_text, members) select id, name_sort, search_text, %3$s
     from new_rows n where %2$s and not exists (select from %1$I s where s.id = n.id)', target, findable, members);
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
