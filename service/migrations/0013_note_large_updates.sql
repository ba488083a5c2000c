-- Planned each time: a session whose first statement changed one entry compared each row with each in all later ones, so a sync
-- of thousands of member counts took minutes.
create or replace function note_search_updated() returns trigger language plpgsql set search_path from current as $$
begin
  execute
    'select note_search_changes($1, array_agg(n.ordinal) filter (where is_written),
       array_agg(n.ordinal) filter (where not is_written))
     from (
       select n.ordinal, (n.name_sort, n.search_text) is distinct from (o.name_sort, o.search_text) as is_written
       from new_rows n join old_rows o on o.id = n.id
     ) n' using tg_argv[0];
  return null;
end $$;
