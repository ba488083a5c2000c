-- Other names of organisations and alliances: former ones, acronyms, other scripts.

alter table orgs add column aliases jsonb not null default '[]';
alter table alliances add column aliases jsonb not null default '[]';

create or replace function touch_org() returns trigger language plpgsql set search_path from current as $$
begin
  if (new.slug, new.name, new.tag, new.aliases, new.description, new.primary_activity, new.secondary_activity,
      new.commitment, new.recruiting, new.language, new.timezone, new.location, new.member_count,
      new.logo_url, new.banner_url, new.links, new.alliance_id, new.verified, new.status, new.founded_at)
    is distinct from
     (old.slug, old.name, old.tag, old.aliases, old.description, old.primary_activity, old.secondary_activity,
      old.commitment, old.recruiting, old.language, old.timezone, old.location, old.member_count,
      old.logo_url, old.banner_url, old.links, old.alliance_id, old.verified, old.status, old.founded_at)
  then new.updated_at := now();
  else new.updated_at := old.updated_at;
  end if;
  return new;
end $$;

create or replace function touch_alliance() returns trigger language plpgsql set search_path from current as $$
begin
  if (new.slug, new.name, new.tag, new.aliases, new.description, new.logo_url, new.banner_url, new.links, new.recruiting,
      new.org_count, new.member_count, new.status, new.founded_at)
    is distinct from
     (old.slug, old.name, old.tag, old.aliases, old.description, old.logo_url, old.banner_url, old.links, old.recruiting,
      old.org_count, old.member_count, old.status, old.founded_at)
  then new.updated_at := now();
  else new.updated_at := old.updated_at;
  end if;
  return new;
end $$;
