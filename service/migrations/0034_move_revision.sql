-- All commits to the directory wait for this one after the other, so it does only what they need. Workers remove old notes. Next
-- to a snapshot that is held for long, whatever it changed in vain would be in the way of the next ones.

create or replace function move_revision() returns trigger language plpgsql
set search_path from current
-- The table of notes may have been small when this was planned. What PostgreSQL cannot do otherwise counts as expensive then, so
-- before version 18 it would be compiled each time, while all others wait.
set enable_seqscan = off
set jit = off
as $$
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
  -- One row per kind, unless something was counted.
  if changed_scope in ('directory', 'blueprints') and (select count(*) > 3 from list_totals) then
    with folded as (delete from list_totals returning kind, entries)
    insert into list_totals select kind, sum(entries) from folded group by kind;
  end if;
  update revisions set revision = revision + 1 where scope = changed_scope returning revision into moved_to;
  if changed_scope in ('directory', 'blueprints') then
    -- Kept for 15 minutes from now, not from the start of the transaction: the changes of a long one could be removed before
    -- a process had read them.
    update search_changes set revision = moved_to, at = clock_timestamp()
    where revision is null and xid = pg_current_xact_id()
      and kind = any(case changed_scope when 'blueprints' then '{blueprints}' else '{orgs,alliances}'::text[] end);
  end if;
  perform pg_notify('orgdir_revision', changed_scope);
  return null;
end $$;
drop index search_changes_by_time;
