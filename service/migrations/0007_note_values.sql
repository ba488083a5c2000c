-- Filters, facets and sorts run in the memory of each process, as searches do, so a change of any field is noted, not only
-- of those that a search looks in.

create function note_values_updated() returns trigger language plpgsql set search_path from current as $$
begin
  execute format(
    'select note_search_changes(%1$L, null, array_agg(s.ordinal))
     from new_rows n join old_rows o on o.id = n.id join %2$I s on s.id = n.id
     where n is distinct from o', tg_table_name, 'searchable_' || tg_table_name);
  if tg_table_name = 'alliances' then
    -- Organisations are filtered and counted by the slug of their alliance.
    execute
      'select note_search_changes(''orgs'', null, array_agg(s.ordinal))
       from new_rows n join old_rows o on o.id = n.id
       join orgs g on g.alliance_id = n.id join searchable_orgs s on s.id = g.id
       where n.slug <> o.slug';
  end if;
  return null;
end $$;
create trigger note_values_updated after update on orgs
  referencing old table as old_rows new table as new_rows
  for each statement execute function note_values_updated();
create trigger note_values_updated after update on alliances
  referencing old table as old_rows new table as new_rows
  for each statement execute function note_values_updated();
create trigger note_values_updated after update on blueprints
  referencing old table as old_rows new table as new_rows
  for each statement execute function note_values_updated();
