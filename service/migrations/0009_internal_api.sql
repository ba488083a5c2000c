-- What the internal API needs: keys of the platform, slugs that are kept for who had them, and listings that are
-- announced once.

-- A platform's key belongs to no app, and an app's key may nothing of the platform's.
alter table api_keys alter column app_id drop not null;
alter table api_keys drop constraint api_keys_scopes_check;
alter table api_keys add constraint api_keys_scopes_check check (cardinality(scopes) > 0
  and scopes <@ array['read:directory', 'read:events', 'write:webhooks', 'platform']);
alter table api_keys add constraint api_keys_platform_check
  check ((app_id is null) = ('platform' = any(scopes)) and (app_id is not null or scopes = array['platform']));

-- The slugs that entries had before they were renamed. For a while nobody else is given one.
create table former_slugs (
  kind text not null check (kind in ('orgs', 'alliances', 'blueprints')),
  slug text collate "C" not null,
  -- of the entry that had it, which may be gone
  entry_id uuid not null,
  left_at timestamptz(3) not null default now(),
  primary key (kind, slug)
);

create function keep_former_slug() returns trigger language plpgsql set search_path from current as $$
begin
  delete from former_slugs where kind = tg_table_name and slug = new.slug and entry_id = new.id;
  insert into former_slugs (kind, slug, entry_id) values (tg_table_name, old.slug, new.id)
  on conflict (kind, slug) do update set entry_id = excluded.entry_id, left_at = excluded.left_at;
  return null;
end $$;

create trigger keep_former_slug after update on orgs
  for each row when (old.slug <> new.slug) execute function keep_former_slug();
create trigger keep_former_slug after update on alliances
  for each row when (old.slug <> new.slug) execute function keep_former_slug();
create trigger keep_former_slug after update on blueprints
  for each row when (old.slug <> new.slug) execute function keep_former_slug();

-- An organisation is announced when it first becomes listed, and never again, however often it is hidden and shown.
alter table orgs add column first_listed_at timestamptz(3);

-- Nothing public moves: neither revisions nor search nor counts have to follow.
alter table orgs disable trigger user;
update orgs set first_listed_at = created_at where listed;
update orgs set first_listed_at = events.created_at
from events where events.name = 'org.created' and events.org_id = orgs.id and not orgs.listed;
alter table orgs enable trigger user;

create function note_first_listing() returns trigger language plpgsql set search_path from current as $$
begin
  new.first_listed_at := now();
  return new;
end $$;

create trigger note_first_listing before insert or update on orgs
  for each row when (new.listed and new.first_listed_at is null) execute function note_first_listing();
alter table orgs add check (not listed or first_listed_at is not null);
