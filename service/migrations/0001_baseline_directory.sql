-- The directory: organisations, alliances and blueprints, and what lets readers cache them. All tables of the service are in
-- the schema `orgdir`. Files 0001 to 0006 are the schema of 1.0.0; `schema.sql` has the sum of all migrations.

-- --- ids ---------------------------------------------------------------------------------------------
-- The database makes ids, so that they follow one clock.

-- In the order of microseconds: what one session makes stays in its order. The twelve bits after the version are the fraction
-- of the millisecond.
create function uuid_v7(at timestamptz, random uuid) returns uuid language sql stable parallel safe as $$
  -- Uses "at" once, because PostgreSQL only inlines such a function. 48 + 12 bits of time, with the version in between.
  select (overlay(lpad(to_hex((extract(epoch from at) * 4096000)::bigint), 15, '0') placing '7' from 13 for 0)
    || right(random::text, 17))::uuid
$$;

create function uuid_v7(at timestamptz default clock_timestamp()) returns uuid language sql volatile parallel safe as $$
  -- PostgreSQL has its own from 18 on; this one runs on 15.
  select orgdir.uuid_v7(at, gen_random_uuid())
$$;

create function uuid_v7_floor(at timestamptz) returns uuid language sql immutable parallel safe as $$
  -- The smallest UUIDv7 of that millisecond: a partition's bound.
  select encode(overlay('\x00000000000000000000000000000000'::bytea
    placing substring(int8send(floor(extract(epoch from at) * 1000)::bigint) from 3) from 1 for 6),
    'hex')::uuid
$$;

create function uuid_v7_hour(id uuid) returns timestamptz language sql immutable parallel safe as $$
  select date_bin('1 hour', timestamptz 'epoch'
    + ('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint * interval '1 millisecond', 'epoch')
$$;

-- --- organisations, alliances, blueprints ------------------------------------------------------------

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
  -- Of listed organisations; triggers of `orgs` keep them.
  org_count integer not null default 0 check (org_count >= 0),
  member_count bigint not null default 0 check (member_count >= 0),
  status text not null default 'active' check (status in ('active', 'disbanded')),
  founded_at timestamptz(3),
  -- Folded by the service, because `lower` differs between PostgreSQL versions.
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
  -- From here to `notes` private. The public sees only listed organisations.
  listed boolean not null default true,
  -- An organisation is announced when it first becomes listed, and never again, however often it is hidden and shown.
  first_listed_at timestamptz(3),
  contact_email text,
  chat_server_id text,
  notes text,
  name_sort text collate "C" not null,
  search_text text collate "C" not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  check (not listed or first_listed_at is not null)
);
create index orgs_by_name on orgs (name_sort, id) where listed;
create index orgs_by_created on orgs (created_at, id) where listed;
create index orgs_by_updated on orgs (updated_at, id) where listed;
create index orgs_by_members on orgs (member_count, id) where listed;
create index orgs_by_alliance on orgs (alliance_id, name_sort, id) where listed;
create index orgs_by_primary_activity on orgs (primary_activity) where listed;
create index orgs_by_secondary_activity on orgs (secondary_activity) where listed;
create index orgs_by_language on orgs (language) where listed;
-- An import looks up the names of its rows. `orgs_by_name` has the listed organisations only.
create index orgs_unlisted_by_name on orgs (name_sort) where not listed;

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
  -- Each ingredient's item and its folded name, for the filter `ingredient`.
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

create function note_first_listing() returns trigger language plpgsql set search_path from current as $$
begin
  new.first_listed_at := now();
  return new;
end $$;
create trigger note_first_listing before insert or update on orgs
  for each row when (new.listed and new.first_listed_at is null) execute function note_first_listing();

-- The slugs that entries had before they were renamed. For a while nobody else is given one.
create table former_slugs (
  kind text not null check (kind in ('orgs', 'alliances', 'blueprints')),
  slug text collate "C" not null,
  -- The entry that had it, which may be gone.
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

-- --- counts ------------------------------------------------------------------------------------------

-- The totals of unfiltered lists. Statements append a difference; the end of the transaction folds them (`move_revision`).
create table list_totals (
  kind text not null check (kind in ('orgs', 'alliances', 'blueprints')),
  entries bigint not null
);
insert into list_totals values ('orgs', 0), ('alliances', 0), ('blueprints', 0);

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
create trigger count_inserted after insert on orgs
  referencing new table as new_rows for each statement execute function count_orgs_inserted();

create function count_orgs_deleted() returns trigger language plpgsql set search_path from current as $$
begin
  insert into list_totals select 'orgs', -count(*) from old_rows where listed having count(*) <> 0;
  perform apply_alliance_difference(alliance_id, -entries, -members) from (
    select alliance_id, count(*) as entries, sum(member_count) as members
    from old_rows where listed and alliance_id is not null group by alliance_id order by alliance_id
  ) as difference;
  return null;
end $$;
create trigger count_deleted after delete on orgs
  referencing old table as old_rows for each statement execute function count_orgs_deleted();

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
create trigger count_updated after update on orgs
  referencing old table as old_rows new table as new_rows
  for each statement execute function count_orgs_updated();

create function count_rows_inserted() returns trigger language plpgsql set search_path from current as $$
begin
  insert into list_totals select tg_table_name, count(*) from new_rows having count(*) <> 0;
  return null;
end $$;
create trigger count_inserted after insert on alliances
  referencing new table as new_rows for each statement execute function count_rows_inserted();
create trigger count_inserted after insert on blueprints
  referencing new table as new_rows for each statement execute function count_rows_inserted();

create function count_rows_deleted() returns trigger language plpgsql set search_path from current as $$
begin
  insert into list_totals select tg_table_name, -count(*) from old_rows having count(*) <> 0;
  return null;
end $$;
create trigger count_deleted after delete on alliances
  referencing old table as old_rows for each statement execute function count_rows_deleted();
create trigger count_deleted after delete on blueprints
  referencing old table as old_rows for each statement execute function count_rows_deleted();

-- --- search ------------------------------------------------------------------------------------------
-- Searches run in the memory of each process, which reads these tables and then what changes in them. They have unlisted
-- organisations too. `ordinal` identifies an entry in memory.

create table searchable_orgs (
  id uuid primary key references orgs on delete cascade,
  ordinal integer generated always as identity unique,
  members bigint not null,
  listed boolean not null,
  name_sort text collate "C" not null,
  search_text text collate "C" not null
);
create table searchable_alliances (
  id uuid primary key references alliances on delete cascade,
  ordinal integer generated always as identity unique,
  members bigint not null,
  listed boolean not null,
  name_sort text collate "C" not null,
  search_text text collate "C" not null
);
create table searchable_blueprints (
  id uuid primary key references blueprints on delete cascade,
  ordinal integer generated always as identity unique,
  members bigint not null,
  listed boolean not null,
  name_sort text collate "C" not null,
  search_text text collate "C" not null
);

-- The arguments: whether the public may find a row, and its number of members. An entry that stays keeps its ordinal.
create function keep_search() returns trigger language plpgsql set search_path from current as $$
declare
  target constant text := 'searchable_' || tg_table_name;
  listed constant text := tg_argv[0];
  members constant text := tg_argv[1];
begin
  if tg_op = 'INSERT' then
    execute format(
      'insert into %1$I (id, members, listed, name_sort, search_text)
       select id, %3$s, %2$s, name_sort, search_text from new_rows', target, listed, members);
    return null;
  end if;
  execute format(
    'update %1$I s set members = n.members, listed = n.listed, name_sort = n.name_sort, search_text = n.search_text
     from (select id, %3$s as members, %2$s as listed, name_sort, search_text from new_rows) n
     where s.id = n.id and (s.members, s.listed, s.name_sort, s.search_text)
       is distinct from (n.members, n.listed, n.name_sort, n.search_text)', target, listed, members);
  return null;
end $$;
create trigger keep_search_inserted after insert on orgs
  referencing new table as new_rows for each statement execute function keep_search('listed', 'member_count');
create trigger keep_search_updated after update on orgs
  referencing new table as new_rows for each statement execute function keep_search('listed', 'member_count');
create trigger keep_search_inserted after insert on alliances
  referencing new table as new_rows for each statement execute function keep_search('true', 'member_count');
create trigger keep_search_updated after update on alliances
  referencing new table as new_rows for each statement execute function keep_search('true', 'member_count');
create trigger keep_search_inserted after insert on blueprints
  referencing new table as new_rows for each statement execute function keep_search('true', '0');
create trigger keep_search_updated after update on blueprints
  referencing new table as new_rows for each statement execute function keep_search('true', '0');

-- The ordinals that statements changed. The end of the transaction adds its revision, and removes old rows
-- (`move_revision`).
create table search_changes (
  kind text not null check (kind in ('orgs', 'alliances', 'blueprints')),
  revision bigint,
  at timestamptz not null default now(),
  -- Added, removed, or with other texts.
  written integer[] not null,
  -- With the same texts, but another number of members or another `listed`.
  adjusted integer[] not null
);
create index search_changes_by_revision on search_changes (kind, revision);
create index search_changes_by_time on search_changes (at);

create function note_search_changes(changed_kind text, written integer[], adjusted integer[])
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

create function note_search_inserted() returns trigger language plpgsql set search_path from current as $$
begin
  perform note_search_changes(tg_argv[0], array_agg(ordinal), null) from new_rows;
  return null;
end $$;
create trigger note_inserted after insert on searchable_orgs
  referencing new table as new_rows for each statement execute function note_search_inserted('orgs');
create trigger note_inserted after insert on searchable_alliances
  referencing new table as new_rows for each statement execute function note_search_inserted('alliances');
create trigger note_inserted after insert on searchable_blueprints
  referencing new table as new_rows for each statement execute function note_search_inserted('blueprints');

create function note_search_deleted() returns trigger language plpgsql set search_path from current as $$
begin
  perform note_search_changes(tg_argv[0], array_agg(ordinal), null) from old_rows;
  return null;
end $$;
create trigger note_deleted after delete on searchable_orgs
  referencing old table as old_rows for each statement execute function note_search_deleted('orgs');
create trigger note_deleted after delete on searchable_alliances
  referencing old table as old_rows for each statement execute function note_search_deleted('alliances');
create trigger note_deleted after delete on searchable_blueprints
  referencing old table as old_rows for each statement execute function note_search_deleted('blueprints');

create function note_search_updated() returns trigger language plpgsql set search_path from current as $$
begin
  perform note_search_changes(tg_argv[0], array_agg(n.ordinal) filter (where is_written),
    array_agg(n.ordinal) filter (where not is_written))
  from (
    select n.ordinal, (n.name_sort, n.search_text) is distinct from (o.name_sort, o.search_text) as is_written
    from new_rows n join old_rows o on o.id = n.id
  ) n;
  return null;
end $$;
create trigger note_updated after update on searchable_orgs
  referencing old table as old_rows new table as new_rows
  for each statement execute function note_search_updated('orgs');
create trigger note_updated after update on searchable_alliances
  referencing old table as old_rows new table as new_rows
  for each statement execute function note_search_updated('alliances');
create trigger note_updated after update on searchable_blueprints
  referencing old table as old_rows new table as new_rows
  for each statement execute function note_search_updated('blueprints');

-- --- revisions ---------------------------------------------------------------------------------------

-- A page that was read at revision r stays right for as long as the revision is r. The row is touched once per transaction,
-- at its end, so that writers wait for each other only while they commit. `access` is for keys, `system` for maintenance and
-- syncs.
create table revisions (
  scope text primary key,
  revision bigint not null
);
insert into revisions values ('directory', 1), ('blueprints', 1), ('access', 1), ('system', 1);

create function move_revision() returns trigger language plpgsql set search_path from current as $$
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
    -- Kept for 15 minutes from now, not from the start of the transaction: the changes of a long one could be removed before
    -- a process had read them.
    update search_changes set revision = moved_to, at = clock_timestamp()
    where revision is null
      and kind = any(case changed_scope when 'blueprints' then '{blueprints}' else '{orgs,alliances}'::text[] end);
    -- A process that has not read for so long loads everything again.
    delete from search_changes where at < now() - interval '15 minutes';
  end if;
  perform pg_notify('orgdir_revision', changed_scope);
  return null;
end $$;
create constraint trigger move_revision after insert or update or delete on orgs
  deferrable initially deferred for each row execute function move_revision('directory');
create constraint trigger move_revision after insert or update or delete on alliances
  deferrable initially deferred for each row execute function move_revision('directory');
create constraint trigger move_revision after insert or update or delete on blueprints
  deferrable initially deferred for each row execute function move_revision('blueprints');
