-- Who may do what: apps, their keys, managers, bindings.
create table apps (
  id uuid primary key,
  name text not null check (name <> ''),
  owner_email text collate "C" not null
    check (owner_email = lower(btrim(owner_email)) and owner_email like '%_@_%'),
  created_at timestamptz(3) not null default now(),
  unique (id, owner_email)
);
create index apps_by_owner on apps (owner_email, id);

create table api_keys (
  id uuid primary key,
  app_id uuid not null references apps on delete cascade,
  name text not null check (name <> ''),
  -- SHA-256 of the whole key; the key itself is nowhere
  hash bytea not null unique check (length(hash) = 32),
  last4 text not null check (length(last4) = 4),
  scopes text[] not null check (cardinality(scopes) > 0
    and scopes <@ array['read:directory', 'read:events', 'write:webhooks']),
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  last_used_at timestamptz(3),
  created_at timestamptz(3) not null default now()
);
create index api_keys_by_app on api_keys (app_id, id);

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

-- At most one an app. The foreign keys are the rule: whoever stops being a manager, and whatever
-- is deleted, takes the binding with it, in the same transaction, however the change was made.
create table bindings (
  app_id uuid primary key,
  owner_email text collate "C" not null,
  org_id uuid,
  alliance_id uuid,
  created_at timestamptz(3) not null default now(),
  check (num_nonnulls(org_id, alliance_id) = 1),
  foreign key (app_id, owner_email) references apps (id, owner_email) on delete cascade,
  foreign key (org_id, owner_email) references org_managers (org_id, email) on delete cascade,
  foreign key (alliance_id, owner_email) references alliance_managers (alliance_id, email) on delete cascade
);
create index bindings_by_org on bindings (org_id, owner_email) where org_id is not null;
create index bindings_by_alliance on bindings (alliance_id, owner_email) where alliance_id is not null;

-- `last_used_at` is left out: noting a use must not drop every cached key.
create constraint trigger move_revision after insert or delete
  or update of scopes, expires_at, revoked_at, hash, app_id on api_keys
  deferrable initially deferred for each row execute function move_revision('access');
