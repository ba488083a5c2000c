-- The installation: maintenance, syncs, suspensions, and what other database roles may do.

-- What this installation has decided once.
create table installation (
  name text primary key,
  value text not null,
  decided_at timestamptz(3) not null default now()
);

-- One row, or none.
create table maintenance (
  singleton boolean primary key default true check (singleton),
  message text,
  since timestamptz(3) not null default now(),
  expected_end timestamptz(3)
);
create constraint trigger move_revision after insert or update or delete on maintenance
  deferrable initially deferred for each row execute function move_revision('system');

-- --- syncs -------------------------------------------------------------------------------------------

-- What each run of a sync did, or why it failed; /status shows the last that completed.
create table sync_runs (
  id uuid primary key,
  kind text not null check (kind in ('blueprints', 'chat')),
  source text not null,
  -- Who asked for it.
  trigger text not null default 'cli' check (trigger in ('schedule', 'cli', 'api')),
  status text not null check (status in ('running', 'succeeded', 'failed')),
  started_at timestamptz(3) not null default now(),
  finished_at timestamptz(3),
  -- As json, so that its numbers stay in their order.
  counts json,
  -- The release that the source names.
  version text,
  -- Why it failed: a class, and a text for people; neither ever holds a secret.
  reason text,
  message text,
  -- Rows that were left out, servers that did not respond: the first hundred.
  problems jsonb not null default '[]',
  -- What the source said of its state (ETag, Last-Modified), and the revision of the blueprints that came of it.
  validators jsonb,
  check ((status = 'running') = (finished_at is null)),
  check ((status = 'failed') = (reason is not null)),
  check ((status = 'succeeded') = (counts is not null))
);
create index sync_runs_completed on sync_runs (kind, finished_at desc) where status = 'succeeded';
create constraint trigger move_revision after insert or update or delete on sync_runs
  deferrable initially deferred for each row execute function move_revision('system');

-- When a scheduled sync is next due. In the database, so that several processes run each time once, and that a time that
-- passed while none ran is made up for.
create table sync_schedules (
  kind text primary key check (kind in ('blueprints', 'chat')),
  cron text not null,
  due_at timestamptz(3) not null,
  -- How often the due time was taken up without coming to an end: a run that ends its process must not do so for ever.
  tries integer not null default 0 check (tries >= 0)
);

-- --- suspensions -------------------------------------------------------------------------------------

-- What an operator has suspended. A row goes with what it is about.
create table suspensions (
  account_id uuid unique references users on delete cascade,
  app_id uuid unique references apps on delete cascade,
  webhook_id uuid unique references webhooks on delete cascade,
  key_id uuid unique references api_keys on delete cascade,
  -- As its owners read it.
  reason text not null check (length(reason) between 1 and 500),
  suspended_at timestamptz(3) not null default now(),
  check (num_nonnulls(account_id, app_id, webhook_id, key_id) = 1)
);
-- Processes keep the callers of keys in memory while this revision is current.
create constraint trigger move_revision after insert or update or delete on suspensions
  deferrable initially deferred for each row execute function move_revision('access');

-- --- privileges --------------------------------------------------------------------------------------

-- PostgreSQL lets everybody call a new function. Called after every migration, so that this holds for later ones too,
-- and so that a role that an administrator made meanwhile gets its rights.
create function settle_privileges() returns void language plpgsql set search_path from current as $$
declare
  routine regprocedure;
begin
  for routine in
    select p.oid from pg_proc p
    where p.pronamespace = 'orgdir'::regnamespace and has_function_privilege('public', p.oid, 'execute')
      and pg_has_role(p.proowner, 'usage')
      and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
  loop
    execute format('revoke execute on function %s from public', routine);
  end loop;
  if not exists (select from pg_roles where rolname = 'orgdir_publisher') then
    return;
  end if;
  if not has_schema_privilege('orgdir_publisher', 'orgdir', 'usage') then
    grant usage on schema orgdir to orgdir_publisher;
  end if;
  for routine in
    select p.oid from pg_proc p
    where p.pronamespace = 'orgdir'::regnamespace and p.proname = 'publish_event'
      and not has_function_privilege('orgdir_publisher', p.oid, 'execute')
  loop
    execute format('grant execute on function %s to orgdir_publisher', routine);
  end loop;
end $$;

-- Roles belong to the whole server: another database of it may have made this one, at this very moment too.
do $$
begin
  if not exists (select from pg_roles where rolname = 'orgdir_publisher') then
    create role orgdir_publisher nologin;
  end if;
exception
  when duplicate_object or unique_violation then
    null;
  when insufficient_privilege then
    raise notice 'the role orgdir_publisher is left to an administrator: create role orgdir_publisher nologin; then run orgdir migrate';
end $$;
select settle_privileges();
