-- Search changes are kept for 15 minutes from their revision, not from the start of their transaction. The changes of a
-- long transaction could be removed before a process had read them.
create or replace function note_search_changes(changed_kind text, written integer[], adjusted integer[])
returns void language plpgsql set search_path from current as $$
declare
  changed_scope constant text := case changed_kind when 'blueprints' then 'blueprints' else 'directory' end;
  -- Set if the transaction has moved the revision before its end.
  moved constant boolean :=
    current_setting('orgdir.moved_' || changed_scope, true) is not distinct from pg_current_xact_id()::text;
begin
  if coalesce(cardinality(written), 0) + coalesce(cardinality(adjusted), 0) > 0 then
    insert into search_changes (kind, revision, at, written, adjusted)
    select changed_kind, case when moved then (select revision from revisions where scope = changed_scope) end,
      clock_timestamp(), coalesce(written, '{}'), coalesce(adjusted, '{}');
  end if;
end $$;

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
    update search_changes set revision = moved_to, at = clock_timestamp()
    where revision is null
      and kind = any(case changed_scope when 'blueprints' then '{blueprints}' else '{orgs,alliances}'::text[] end);
    -- A process that has not read for so long loads everything again.
    delete from search_changes where at < now() - interval '15 minutes';
  end if;
  perform pg_notify('orgdir_revision', changed_scope);
  return null;
end $$;
