-- A link that sets a password either creates an account or resets one. The triggers hold for processes of the version
-- before, too, and for whatever creates an account. Null: made before this migration; 0042 fills it in.
alter table password_links add column creates_account boolean;

create function set_password_link_purpose() returns trigger language plpgsql set search_path from current as $$
begin
  new.creates_account := not exists (select from users where email = new.email);
  return new;
end $$;
create trigger set_purpose before insert or update of hash on password_links for each row
  execute function set_password_link_purpose();

create function delete_password_links_of_account() returns trigger language plpgsql set search_path from current as $$
begin
  delete from password_links where email = new.email;
  return new;
end $$;
-- Before the insertion, because setting a password locks the link first and the user second, too.
create trigger delete_password_links before insert on users for each row
  execute function delete_password_links_of_account();
