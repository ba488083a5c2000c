-- A foreign key locks the app at the end of each change of a binding. A change of the app locks it at its beginning and then
-- ends the binding, so the two could deadlock.
alter table binding_versions drop constraint binding_versions_app_id_fkey;

create function drop_binding_versions() returns trigger language plpgsql set search_path from current as $$
begin
  delete from binding_versions where app_id = old.id;
  return null;
end $$;
-- PostgreSQL runs it after the foreign keys of the app, which end its binding.
create trigger drop_binding_versions after delete on apps for each row execute function drop_binding_versions();
