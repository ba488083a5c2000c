-- The directory: alliances, organisations, blueprints, and what lets readers cache them.
create extension if not exists pg_trgm;

-- A page that was read at revision r stays right for as long as the revision is r. The row is
-- touched once per transaction, at its end, so that writers wait for each other only while they commit.
create table revisions (
  scope text primary key,
  revision bigint not null
);
insert into revisions values ('directory', 1), ('blueprints', 1), ('access', 1), ('system', 1);

-- The totals of unfiltered lists. Statements append a difference; the end of the transaction folds them.
create table list_totals (
  kind text not null check (kind in ('orgs', 'alliances', 'blueprints')),
  entries bigint not null
);
insert into list_totals values ('orgs', 0), ('alliances', 0), ('blueprints', 0);

create function move_revision() returns trigger language plpgsql set search_path from current as $$
declare
  changed_scope constant text := tg_argv[0];
  setting constant text := 'orgdir.moved_' || changed_scope;
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
  update revisions set revision = revision + 1 where scope = changed_scope;
  perform pg_notify('orgdir_revision', changed_scope);
  return null;
end $$;

create table alliances (
  id uuid primary key,
  slug text collate "C" not null unique
    check (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$' and length(slug) between 1 and 80),
  name text not null check (name <> ''),
  tag text,
  description text,
  logo_url text,
  banner_url text,
  links jsonb not null default '{}',
  recruiting boolean not null default false,
  org_count integer not null default 0 check (org_count >= 0),
  member_count bigint not null default 0 check (member_count >= 0),
  status text not null default 'active' check (status in ('active', 'disbanded')),
  founded_at timestamptz(3),
  name_sort text collate "C" not null,
  search_text text collate "C" not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index alliances_by_name on alliances (name_sort, id);
create index alliances_by_created on alliances (created_at, id);
create index alliances_by_updated on alliances (updated_at, id);
create index alliances_by_members on alliances (member_count, id);

create table orgs (
  id uuid primary key,
  slug text collate "C" not null unique
    check (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$' and length(slug) between 1 and 80),
  name text not null check (name <> ''),
  tag text,
  description text,
  primary_activity text,
  secondary_activity text,
  commitment text,
  recruiting boolean not null default false,
  language text,
  timezone text,
  location text,
  member_count integer not null default 0 check (member_count >= 0),
  logo_url text,
  banner_url text,
  links jsonb not null default '{}',
  alliance_id uuid references alliances on delete set null,
  verified boolean not null default false,
  status text not null default 'active' check (status in ('active', 'closed')),
  founded_at timestamptz(3),
  -- private from here on, but for the two times at the end
  listed boolean not null default true,
  contact_email text,
  chat_server_id text,
  notes text,
  name_sort text collate "C" not null,
  search_text text collate "C" not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index orgs_by_name on orgs (name_sort, id) where listed;
create index orgs_by_created on orgs (created_at, id) where listed;
create index orgs_by_updated on orgs (updated_at, id) where listed;
create index orgs_by_members on orgs (member_count, id) where listed;
create index orgs_by_alliance on orgs (alliance_id, name_sort, id) where listed;
create index orgs_by_primary_activity on orgs (primary_activity) where listed;
create index orgs_by_secondary_activity on orgs (secondary_activity) where listed;
create index orgs_by_language on orgs (language) where listed;

create table blueprints (
  id uuid primary key,
  slug text collate "C" not null unique
    check (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$' and length(slug) between 1 and 80),
  key text collate "C" not null unique check (key <> ''),
  name text not null check (name <> ''),
  description text,
  category text not null check (category ~ '^[a-z0-9]+(-[a-z0-9]+)*$'),
  output jsonb not null,
  craft_time_seconds double precision check (craft_time_seconds >= 0),
  ingredients jsonb not null default '[]',
  sources jsonb not null default '[]',
  version text,
  active boolean not null default true,
  retired_at timestamptz(3),
  -- each ingredient's item and its folded name, for the filter `ingredient`
  ingredient_terms text[] not null default '{}',
  name_sort text collate "C" not null,
  search_text text collate "C" not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  check (active = (retired_at is null))
);
create index blueprints_by_name on blueprints (name_sort, id);
create index blueprints_by_created on blueprints (created_at, id);
create index blueprints_by_updated on blueprints (updated_at, id);
create index blueprints_by_category on blueprints (category, name_sort, id);
create index blueprints_retired on blueprints (name_sort, id) where not active;
create index blueprints_by_ingredient on blueprints using gin (ingredient_terms);

-- What searches read: rows so narrow that one with thousands of matches visits few pages. Only what may
-- be found is in here. The pending list of each index is short, because every search reads all of it.
create table alliances_search (
  id uuid primary key references alliances on delete cascade,
  name_sort text collate "C" not null,
  search_text text collate "C" not null
);
create index alliances_by_text on alliances_search using gin (search_text gin_trgm_ops)
  with (gin_pending_list_limit = 1024);
create table orgs_search (
  id uuid primary key references orgs on delete cascade,
  name_sort text collate "C" not null,
  search_text text collate "C" not null
);
create index orgs_by_text on orgs_search using gin (search_text gin_trgm_ops)
  with (gin_pending_list_limit = 1024);
create table blueprints_search (
  id uuid primary key references blueprints on delete cascade,
  name_sort text collate "C" not null,
  search_text text collate "C" not null
);
create index blueprints_by_text on blueprints_search using gin (search_text gin_trgm_ops)
  with (gin_pending_list_limit = 1024);

-- The argument says which rows may be found.
create function keep_search() returns trigger language plpgsql set search_path from current as $$
declare
  target constant text := tg_table_name || '_search';
  findable constant text := tg_argv[0];
begin
  if tg_op = 'UPDATE' then
    execute format(
      'delete from %1$I s using new_rows n where s.id = n.id and (not %2$s
         or (s.name_sort, s.search_text) is distinct from (n.name_sort, n.search_text))',
      target, findable);
  end if;
  execute format(
    'insert into %1$I select id, name_sort, search_text from new_rows where %2$s on conflict (id) do nothing',
    target, findable);
  return null;
end $$;
create trigger keep_search_inserted after insert on alliances
  referencing new table as new_rows for each statement execute function keep_search('true');
create trigger keep_search_updated after update on alliances
  referencing new table as new_rows for each statement execute function keep_search('true');
create trigger keep_search_inserted after insert on orgs
  referencing new table as new_rows for each statement execute function keep_search('listed');
create trigger keep_search_updated after update on orgs
  referencing new table as new_rows for each statement execute function keep_search('listed');
create trigger keep_search_inserted after insert on blueprints
  referencing new table as new_rows for each statement execute function keep_search('true');
create trigger keep_search_updated after update on blueprints
  referencing new table as new_rows for each statement execute function keep_search('true');

-- `updated_at` moves only when a public field does: a change of a private one must not show.
create function touch_org() returns trigger language plpgsql set search_path from current as $$
begin
  if (new.slug, new.name, new.tag, new.description, new.primary_activity, new.secondary_activity,
      new.commitment, new.recruiting, new.language, new.timezone, new.location, new.member_count,
      new.logo_url, new.banner_url, new.links, new.alliance_id, new.verified, new.status, new.founded_at)
    is distinct from
     (old.slug, old.name, old.tag, old.description, old.primary_activity, old.secondary_activity,
      old.commitment, old.recruiting, old.language, old.timezone, old.location, old.member_count,
      old.logo_url, old.banner_url, old.links, old.alliance_id, old.verified, old.status, old.founded_at)
  then new.updated_at := now();
  else new.updated_at := old.updated_at;
  end if;
  return new;
end $$;
create trigger touch before update on orgs for each row execute function touch_org();

create function touch_alliance() returns trigger language plpgsql set search_path from current as $$
begin
  if (new.slug, new.name, new.tag, new.description, new.logo_url, new.banner_url, new.links, new.recruiting,
      new.org_count, new.member_count, new.status, new.founded_at)
    is distinct from
     (old.slug, old.name, old.tag, old.description, old.logo_url, old.banner_url, old.links, old.recruiting,
      old.org_count, old.member_count, old.status, old.founded_at)
  then new.updated_at := now();
  else new.updated_at := old.updated_at;
  end if;
  return new;
end $$;
create trigger touch before update on alliances for each row execute function touch_alliance();

create function touch_blueprint() returns trigger language plpgsql set search_path from current as $$
begin
  if (new.slug, new.key, new.name, new.description, new.category, new.output, new.craft_time_seconds,
      new.ingredients, new.sources, new.version, new.active, new.retired_at)
    is distinct from
     (old.slug, old.key, old.name, old.description, old.category, old.output, old.craft_time_seconds,
      old.ingredients, old.sources, old.version, old.active, old.retired_at)
  then new.updated_at := now();
  else new.updated_at := old.updated_at;
  end if;
  return new;
end $$;
create trigger touch before update on blueprints for each row execute function touch_blueprint();

-- An alliance's counts, and the total of the list, follow the listed organisations.
create function apply_alliance_difference(alliance uuid, orgs_more bigint, members_more bigint)
returns void language sql set search_path from current as $$
  update alliances
  set org_count = org_count + orgs_more, member_count = member_count + members_more
  where id = alliance and (orgs_more <> 0 or members_more <> 0)
$$;

create function count_orgs_inserted() returns trigger language plpgsql set search_path from current as $$
begin
  insert into list_totals select 'orgs', count(*) from new_rows where listed having count(*) <> 0;
  -- In the order of ids: two transactions that touch the same alliances wait, and do not deadlock.
  perform apply_alliance_difference(alliance_id, entries, members) from (
    select alliance_id, count(*) as entries, sum(member_count) as members
    from new_rows where listed and alliance_id is not null group by alliance_id order by alliance_id
  ) as difference;
  return null;
end $$;

create function count_orgs_deleted() returns trigger language plpgsql set search_path from current as $$
begin
  insert into list_totals select 'orgs', -count(*) from old_rows where listed having count(*) <> 0;
  perform apply_alliance_difference(alliance_id, -entries, -members) from (
    select alliance_id, count(*) as entries, sum(member_count) as members
    from old_rows where listed and alliance_id is not null group by alliance_id order by alliance_id
  ) as difference;
  return null;
end $$;

create function count_orgs_updated() returns trigger language plpgsql set search_path from current as $$
begin
  insert into list_totals
  select 'orgs', sum(entries) from (
    select count(*) as entries from new_rows where listed
    union all select -count(*) from old_rows where listed
  ) as counts having sum(entries) <> 0;
  perform apply_alliance_difference(alliance_id, entries, members) from (
    select alliance_id, sum(entries)::bigint as entries, sum(members)::bigint as members from (
      select alliance_id, 1 as entries, member_count as members
      from new_rows where listed and alliance_id is not null
      union all
      select alliance_id, -1, -member_count from old_rows where listed and alliance_id is not null
    ) as each_row group by alliance_id order by alliance_id
  ) as difference;
  return null;
end $$;

create trigger count_inserted after insert on orgs
  referencing new table as new_rows for each statement execute function count_orgs_inserted();
create trigger count_deleted after delete on orgs
  referencing old table as old_rows for each statement execute function count_orgs_deleted();
create trigger count_updated after update on orgs
  referencing old table as old_rows new table as new_rows
  for each statement execute function count_orgs_updated();

create function count_rows_inserted() returns trigger language plpgsql set search_path from current as $$
begin
  insert into list_totals select tg_table_name, count(*) from new_rows having count(*) <> 0;
  return null;
end $$;
create function count_rows_deleted() returns trigger language plpgsql set search_path from current as $$
begin
  insert into list_totals select tg_table_name, -count(*) from old_rows having count(*) <> 0;
  return null;
end $$;
create trigger count_inserted after insert on alliances
  referencing new table as new_rows for each statement execute function count_rows_inserted();
create trigger count_deleted after delete on alliances
  referencing old table as old_rows for each statement execute function count_rows_deleted();
create trigger count_inserted after insert on blueprints
  referencing new table as new_rows for each statement execute function count_rows_inserted();
create trigger count_deleted after delete on blueprints
  referencing old table as old_rows for each statement execute function count_rows_deleted();

create constraint trigger move_revision after insert or update or delete on orgs
  deferrable initially deferred for each row execute function move_revision('directory');
create constraint trigger move_revision after insert or update or delete on alliances
  deferrable initially deferred for each row execute function move_revision('directory');
create constraint trigger move_revision after insert or update or delete on blueprints
  deferrable initially deferred for each row execute function move_revision('blueprints');

-- Maintenance: one row or none.
create table maintenance (
  singleton boolean primary key default true check (singleton),
  message text,
  since timestamptz(3) not null default now(),
  expected_end timestamptz(3)
);
create constraint trigger move_revision after insert or update or delete on maintenance
  deferrable initially deferred for each row execute function move_revision('system');

-- What this installation has decided once.
create table installation (
  name text primary key,
  value text not null,
  decided_at timestamptz(3) not null default now()
);

-- Runs of the two syncs; /status shows the last that completed.
create table sync_runs (
  id uuid primary key,
  kind text not null check (kind in ('blueprints', 'chat')),
  source text not null,
  status text not null check (status in ('running', 'succeeded', 'failed')),
  started_at timestamptz(3) not null default now(),
  finished_at timestamptz(3)
);
create index sync_runs_completed on sync_runs (kind, finished_at desc) where status = 'succeeded';
create constraint trigger move_revision after insert or update or delete on sync_runs
  deferrable initially deferred for each row execute function move_revision('system');
