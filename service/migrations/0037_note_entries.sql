-- As in 0034, the notes of a transaction are found by its number.
create or replace function note_entries(changed_kind text, changed uuid[], was_public boolean, is_public boolean)
returns void language plpgsql set search_path from current set enable_seqscan = off set jit = off as $$
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
      where c.kind = changed_kind and c.xid = pg_current_xact_id() and c.was_public <> c.is_public and each = any(changed)
      group by each having sum(case when c.is_public then 1 else -1 end) > 0);
    if unseen <> '{}' then
      update search_changes c set entries = array(select each from unnest(entries) each where each <> all(unseen))
      where c.kind = changed_kind and c.xid = pg_current_xact_id() and entries && unseen;
      changed := array(select each from unnest(changed) each where each <> all(unseen));
    end if;
  end if;
  if cardinality(changed) > 0 then
    insert into search_changes (kind, revision, at, written, adjusted, entries, was_public, is_public, silent)
    values (changed_kind, own, clock_timestamp(), '{}', '{}', changed, was_public, is_public,
      coalesce(current_setting('orgdir.silent', true) = 'on', false));
  end if;
end $$;
