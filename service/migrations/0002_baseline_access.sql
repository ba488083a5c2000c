-- Who may do what: apps, their members and keys, managers of organisations and alliances, bindings, and the log of changes.

-- --- audit log ---------------------------------------------------------------------------------------

-- Append-only. No foreign keys: an entry outlives what it describes.
create table audit_log (
  id bigint generated always as identity primary key,
  at timestamptz(3) not null default clock_timestamp(),
  actor_kind text not null check (actor_kind in ('key', 'user', 'cli', 'system')),
  actor_id text,
  actor_name text not null,
  action text not null check (action ~ '^[a-z]+\.[a-z_]+$'),
  subject_kind text not null,
  subject_id text,
  app_id uuid,
  details jsonb not null default '{}'
);
create index audit_log_by_time on audit_log (at desc, id desc);
create index audit_log_by_app on audit_log (app_id, at desc, id desc) where app_id is not null;
create index audit_log_by_subject on audit_log (subject_id);
create index audit_log_by_account on audit_log (subject_id, at desc, id desc) where subject_kind = 'account';
-- A user's own entries, for the export of their data.
create index audit_log_by_user on audit_log (actor_id, at desc, id desc) where actor_kind = 'user';
-- Whoever owned an app when it was deleted still sees its entries; only the log knows by then who that was.
create index audit_log_of_deleted_apps on audit_log using gin ((details->'owners')) where action = 'app.deleted';
-- For the status page.
create index audit_log_of_maintenance on audit_log (at desc) where action = 'maintenance.disabled';

create function refuse_audit_change() returns trigger language plpgsql set search_path from current as $$
begin
  raise exception 'the audit log is append-only: % is refused', lower(tg_op) using errcode = 'insufficient_privilege';
end $$;
create trigger append_only before update or delete or truncate on audit_log
  for each statement execute function refuse_audit_change();

-- On whose behalf this transaction changes things (`nameActor`); if nobody said so, the role that is connected.
create function current_actor() returns jsonb language sql stable set search_path from current as $$
  select coalesce(nullif(current_setting('orgdir.actor', true), '')::jsonb,
    jsonb_build_object('kind', 'system', 'name', 'database role ' || session_user))
$$;

-- --- apps, members, invitations ----------------------------------------------------------------------

create table apps (
  id uuid primary key,
  name text not null check (name <> ''),
  created_at timestamptz(3) not null default now()
);

-- Several people share an app, each with a role. A member is an address, whether it has an account or not.
create table app_members (
  id uuid primary key default uuid_v7(),
  app_id uuid not null references apps on delete cascade,
  email text collate "C" not null check (email = lower(btrim(email)) and email like '%_@_%'),
  role text not null check (role in ('owner', 'developer', 'viewer')),
  -- Whether an owner or developer gets mail about failing webhooks.
  failure_mails boolean not null default true,
  created_at timestamptz(3) not null default now(),
  unique (app_id, email),
  -- Bindings and invitations refer to an owner by it.
  unique (app_id, email, role)
);
create index app_members_by_email on app_members (email, app_id);

create function keep_an_owner() returns trigger language plpgsql set search_path from current as $$
begin
  -- Otherwise two transactions could remove the last two owners, because neither sees the change of the other.
  perform from apps where id = old.app_id for update;
  if found and not exists (select from app_members where app_id = old.app_id and role = 'owner') then
    raise exception 'the app % would have no owner', old.app_id
      using errcode = 'check_violation', constraint = 'apps_have_an_owner';
  end if;
  return null;
end $$;
create trigger keep_an_owner after update or delete on app_members for each row
  when (old.role = 'owner') execute function keep_an_owner();

create function audit_app_members() returns trigger language plpgsql set search_path from current as $$
declare
  actor constant jsonb := current_actor();
  member app_members;
  before text;
begin
  if tg_op = 'DELETE' then
    member := old;
  else
    member := new;
  end if;
  if tg_op = 'UPDATE' then
    before := old.role;
  end if;
  -- The creation and the deletion of an app are one entry each, which names its owners.
  if not exists (select from apps where id = member.app_id)
    or (tg_op = 'INSERT' and not exists (select from app_members where app_id = member.app_id and id <> member.id)) then
    return null;
  end if;
  insert into audit_log (actor_kind, actor_id, actor_name, action, subject_kind, subject_id, app_id, details)
  values (actor->>'kind', actor->>'id', actor->>'name',
    case tg_op when 'INSERT' then 'member.added' when 'UPDATE' then 'member.role_changed' else 'member.removed' end,
    'member', member.id, member.app_id,
    jsonb_strip_nulls(jsonb_build_object('email', member.email, 'role', member.role, 'before', before)));
  return null;
end $$;
create trigger audit after insert or delete on app_members for each row execute function audit_app_members();
create trigger audit_role after update on app_members for each row when (old.role <> new.role)
  execute function audit_app_members();

-- An invitation depends on the member who made it being an owner.
create table app_invitations (
  id uuid primary key,
  app_id uuid not null,
  email text collate "C" not null check (email = lower(btrim(email)) and email like '%_@_%'),
  role text not null check (role in ('owner', 'developer', 'viewer')),
  invited_by text collate "C" not null,
  inviter_role text not null generated always as ('owner') stored,
  -- SHA-256 of the token in the mailed link.
  hash bytea not null unique check (length(hash) = 32),
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  unique (app_id, email),
  foreign key (app_id, invited_by, inviter_role) references app_members (app_id, email, role) on delete cascade
);
create index app_invitations_by_email on app_invitations (email, app_id);
create index app_invitations_by_end on app_invitations (expires_at);

create function audit_app_invitations() returns trigger language plpgsql set search_path from current as $$
declare
  actor constant jsonb := current_actor();
  invitation app_invitations;
  cause text;
begin
  if tg_op = 'DELETE' then
    invitation := old;
    cause := case
      when exists (select from app_members where app_id = old.app_id and email = old.email) then 'accepted'
      when old.expires_at <= now() then 'expired'
      when actor->>'name' = old.email then 'declined'
      -- Deleted by a trigger, or by the foreign key.
      when pg_trigger_depth() > 1 or not exists (
        select from app_members where app_id = old.app_id and email = old.invited_by and role = 'owner'
      ) then 'owner lost'
      else 'revoked'
    end;
  else
    invitation := new;
  end if;
  insert into audit_log (actor_kind, actor_id, actor_name, action, subject_kind, subject_id, app_id, details)
  select actor->>'kind', actor->>'id', actor->>'name',
    case tg_op when 'INSERT' then 'invitation.created' when 'UPDATE' then 'invitation.resent' else 'invitation.ended' end,
    'invitation', invitation.id, id,
    jsonb_strip_nulls(jsonb_build_object('email', invitation.email, 'role', invitation.role, 'cause', cause))
  from apps where id = invitation.app_id;
  return null;
end $$;
create trigger audit after insert or delete on app_invitations for each row execute function audit_app_invitations();
-- When the inviter changes address, their invitations stay, and nothing is sent again.
create trigger audit_resent after update on app_invitations for each row when (old.hash <> new.hash)
  execute function audit_app_invitations();

-- --- keys --------------------------------------------------------------------------------------------

create table api_keys (
  id uuid primary key,
  -- Null for the keys of the platform, which may use the internal API and nothing else.
  app_id uuid references apps on delete cascade,
  name text not null check (name <> ''),
  -- SHA-256 of the whole key; the key itself is nowhere.
  hash bytea not null unique check (length(hash) = 32),
  last4 text not null check (length(last4) = 4),
  scopes text[] not null check (cardinality(scopes) > 0
    and scopes <@ array['read:directory', 'read:events', 'write:webhooks', 'platform']),
  -- Temporary keys do not count towards the keys of an app, and are deleted after they have expired.
  temporary boolean not null default false,
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  last_used_at timestamptz(3),
  -- How often the key was used on the last day (UTC) on which it was used.
  used_on date,
  uses bigint not null default 0,
  created_at timestamptz(3) not null default now(),
  constraint api_keys_platform_check
    check ((app_id is null) = ('platform' = any(scopes)) and (app_id is not null or scopes = array['platform']))
);
create index api_keys_by_app on api_keys (app_id, id);
-- `last_used_at` is left out: noting a use must not drop every cached key.
create constraint trigger move_revision after insert or delete
  or update of scopes, expires_at, revoked_at, hash, app_id on api_keys
  deferrable initially deferred for each row execute function move_revision('access');

-- The requests of each key in its current minute, over all API processes. Unlogged: a lease writes no WAL, so it waits for
-- no disk and no standby. After a crash of the database the counts begin again.
create unlogged table rate_windows (
  -- No foreign key: its check would lock the row of api_keys, which writes WAL.
  key_id uuid primary key,
  ends_at timestamptz not null,
  used bigint not null,
  -- What the last lease got: the statement cannot return it otherwise.
  granted integer not null
) with (fillfactor = 50);

-- --- managers and bindings ---------------------------------------------------------------------------

create table org_managers (
  org_id uuid not null references orgs on delete cascade,
  email text collate "C" not null check (email = lower(btrim(email)) and email like '%_@_%'),
  created_at timestamptz(3) not null default now(),
  primary key (org_id, email)
);
create table alliance_managers (
  alliance_id uuid not null references alliances on delete cascade,
  email text collate "C" not null check (email = lower(btrim(email)) and email like '%_@_%'),
  created_at timestamptz(3) not null default now(),
  primary key (alliance_id, email)
);

create function audit_managers() returns trigger language plpgsql set search_path from current as $$
declare
  subject_kind constant text := tg_argv[0];
  actor constant jsonb := current_actor();
begin
  -- The names are those of the time: the subject itself may be gone by now, and the role with it.
  execute format(
    'insert into audit_log (actor_kind, actor_id, actor_name, action, subject_kind, subject_id, details)
     select $1->>''kind'', $1->>''id'', $1->>''name'', $2, $3, c.%1$I, jsonb_strip_nulls(jsonb_build_object(''email'', c.email, ''slug'', s.slug))
     from changed c left join %2$I s on s.id = c.%1$I order by c.%1$I, c.email',
    tg_argv[1], tg_argv[2])
  using actor, case tg_op when 'INSERT' then 'manager.added' else 'manager.removed' end, subject_kind;
  return null;
end $$;
create trigger audit_added after insert on org_managers referencing new table as changed
  for each statement execute function audit_managers('organization', 'org_id', 'orgs');
create trigger audit_removed after delete on org_managers referencing old table as changed
  for each statement execute function audit_managers('organization', 'org_id', 'orgs');
create trigger audit_added after insert on alliance_managers referencing new table as changed
  for each statement execute function audit_managers('alliance', 'alliance_id', 'alliances');
create trigger audit_removed after delete on alliance_managers referencing old table as changed
  for each statement execute function audit_managers('alliance', 'alliance_id', 'alliances');

-- At most one per app. It depends on the member who made it being an owner of the app and a manager of the organisation or
-- alliance. The foreign keys are the rule: whoever loses one of the two roles, and whatever is deleted, takes the binding
-- with it, in the same transaction, however the change was made.
create table bindings (
  app_id uuid primary key,
  owner_email text collate "C" not null,
  owner_role text not null generated always as ('owner') stored,
  org_id uuid,
  alliance_id uuid,
  -- The last event that was fanned out before the binding. The app may have none up to it.
  after_position bigint not null,
  -- To the microsecond: what happened just before an app was bound is not for it, and what happened just after is.
  created_at timestamptz not null default now(),
  check (num_nonnulls(org_id, alliance_id) = 1),
  foreign key (app_id, owner_email, owner_role) references app_members (app_id, email, role) on delete cascade,
  foreign key (org_id, owner_email) references org_managers (org_id, email) on delete cascade,
  foreign key (alliance_id, owner_email) references alliance_managers (alliance_id, email) on delete cascade
);
create index bindings_by_org on bindings (org_id, owner_email) where org_id is not null;
create index bindings_by_alliance on bindings (alliance_id, owner_email) where alliance_id is not null;

create function note_position() returns trigger language plpgsql set search_path from current as $$
begin
  new.after_position := coalesce((
    select position from events
    where position is not null and fanned_out_at < new.created_at
    order by position desc limit 1
  ), 0);
  return new;
end $$;
create trigger note_position before insert on bindings for each row execute function note_position();

-- Foreign keys end what depends on a removed owner. This ends it for an owner who becomes something else.
create function end_what_depends_on_owner() returns trigger language plpgsql set search_path from current as $$
begin
  delete from bindings where app_id = old.app_id and owner_email = old.email;
  delete from app_invitations where app_id = old.app_id and invited_by = old.email;
  return new;
end $$;
create trigger end_what_depends_on_owner before update on app_members for each row
  when (old.role = 'owner' and (old.app_id, old.email, old.role) is distinct from (new.app_id, new.email, new.role))
  execute function end_what_depends_on_owner();

create function audit_bindings() returns trigger language plpgsql set search_path from current as $$
declare
  actor constant jsonb := current_actor();
begin
  insert into audit_log (actor_kind, actor_id, actor_name, action, subject_kind, subject_id, app_id, details)
  select actor->>'kind', actor->>'id', actor->>'name',
    case tg_op when 'INSERT' then 'binding.created' else 'binding.ended' end,
    case when c.org_id is null then 'alliance' else 'organization' end, coalesce(c.org_id, c.alliance_id), c.app_id,
    jsonb_strip_nulls(jsonb_build_object('slug', coalesce(o.slug, a.slug), 'owner', c.owner_email, 'cause', case
      when tg_op = 'INSERT' then null
      when not exists (select from apps where id = c.app_id) then 'app deleted'
      when c.org_id is not null and o.id is null then 'organization deleted'
      when c.alliance_id is not null and a.id is null then 'alliance deleted'
      -- Deleted by a trigger of `app_members`, or by the foreign key.
      when pg_trigger_depth() > 1 or not exists (
        select from app_members m where m.app_id = c.app_id and m.email = c.owner_email and m.role = 'owner'
      ) then 'owner lost'
      when exists (select from org_managers m where m.org_id = c.org_id and m.email = c.owner_email)
        or exists (select from alliance_managers m where m.alliance_id = c.alliance_id and m.email = c.owner_email)
        then 'unbound'
      else 'role lost'
    end))
  from changed c left join orgs o on o.id = c.org_id left join alliances a on a.id = c.alliance_id
  order by c.app_id;
  return null;
end $$;
create trigger audit_created after insert on bindings referencing new table as changed
  for each statement execute function audit_bindings();
create trigger audit_ended after delete on bindings referencing old table as changed
  for each statement execute function audit_bindings();

-- The bindings by time, so that an event's routing can be explained later; `webhook_versions` has the settings of webhooks.
-- The triggers write in the transaction that makes the change. A row without organisation and alliance: the app was not bound
-- then. So a time without a row is unknown.
create table binding_versions (
  id bigint primary key generated always as identity,
  -- No foreign key: it would lock the app at the end of each change of a binding. A change of the app locks it at its
  -- beginning and then ends the binding, so the two could deadlock.
  app_id uuid not null,
  org_id uuid,
  alliance_id uuid,
  bound_at timestamptz,
  valid_from timestamptz not null default clock_timestamp(),
  valid_to timestamptz check (valid_to >= valid_from),
  check (num_nonnulls(org_id, alliance_id) = num_nonnulls(bound_at))
);
create index binding_versions_by_app on binding_versions (app_id, valid_from);
create unique index binding_versions_current on binding_versions (app_id) where valid_to is null;

create function start_binding_versions() returns trigger language plpgsql set search_path from current as $$
begin
  insert into binding_versions (app_id) values (new.id);
  return null;
end $$;
create trigger start_binding_versions after insert on apps for each row execute function start_binding_versions();

create function keep_binding_version() returns trigger language plpgsql set search_path from current as $$
declare
  app constant uuid := case when tg_op = 'DELETE' then old.app_id else new.app_id end;
  -- A clock that was put back must not make intervals overlap.
  changed_at constant timestamptz := greatest(clock_timestamp(),
    (select valid_from from binding_versions where app_id = app and valid_to is null));
begin
  update binding_versions set valid_to = changed_at where app_id = app and valid_to is null;
  -- The binding of a deleted app leaves nothing.
  insert into binding_versions (app_id, org_id, alliance_id, bound_at, valid_from)
  select a.id, b.org_id, b.alliance_id, b.created_at, changed_at
  from apps a left join bindings b on b.app_id = a.id where a.id = app;
  return null;
end $$;
create trigger keep_version after insert or delete on bindings for each row execute function keep_binding_version();

create function drop_binding_versions() returns trigger language plpgsql set search_path from current as $$
begin
  delete from binding_versions where app_id = old.id;
  return null;
end $$;
-- PostgreSQL runs it after the foreign keys of the app, which end its binding.
create trigger drop_binding_versions after delete on apps for each row execute function drop_binding_versions();
