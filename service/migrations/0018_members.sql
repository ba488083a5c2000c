-- Several people share an app, each with a role, instead of one owner. Waits for processes of an earlier version that are
-- creating or binding apps, so that no app is overlooked.
lock table apps, bindings in access exclusive mode;

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

insert into app_members (app_id, email, role, created_at)
select id, owner_email, 'owner', created_at from apps order by id;

-- A binding depends on the member who made it being an owner of the app and a manager of the organisation or alliance.
alter table bindings drop constraint bindings_app_id_owner_email_fkey;
alter table bindings add column owner_role text not null generated always as ('owner') stored;
alter table bindings add foreign key (app_id, owner_email, owner_role) references app_members (app_id, email, role)
  on delete cascade;
alter table apps drop column owner_email;

-- An invitation depends on the member who made it being an owner.
create table app_invitations (
  id uuid primary key,
  app_id uuid not null,
  email text collate "C" not null check (email = lower(btrim(email)) and email like '%_@_%'),
  role text not null check (role in ('owner', 'developer', 'viewer')),
  invited_by text collate "C" not null,
  inviter_role text not null generated always as ('owner') stored,
  -- SHA-256 of the token in the mailed link
  hash bytea not null unique check (length(hash) = 32),
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  unique (app_id, email),
  foreign key (app_id, invited_by, inviter_role) references app_members (app_id, email, role) on delete cascade
);
create index app_invitations_by_email on app_invitations (email, app_id);
create index app_invitations_by_end on app_invitations (expires_at);

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
create trigger audit after insert or update or delete on app_invitations for each row
  execute function audit_app_invitations();

create or replace function audit_bindings() returns trigger language plpgsql set search_path from current as $$
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

-- The owners of a deleted app still see its entries. Entries of earlier versions have one `owner`.
drop index audit_log_of_deleted_apps;
create index audit_log_of_deleted_apps on audit_log using gin ((coalesce(details->'owners', details->'owner')))
  where action = 'app.deleted';

-- The members who need no mail about the event any more: theirs was sent, or cannot be.
alter table operational_events add column mailed_to text[] not null default '{}';
