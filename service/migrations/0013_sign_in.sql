-- Who signs in to the portal. Names and columns are those that better-auth expects (service/src/sign-in/auth.ts).
create table users (
  id uuid primary key,
  name text not null,
  -- trimmed and in lower case, as the addresses of owners and managers are
  email text collate "C" not null unique check (email = lower(btrim(email)) and email like '%_@_%'),
  email_verified boolean not null default false,
  image text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index users_unverified on users (created_at) where not email_verified;

create table sessions (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  token text not null unique,
  expires_at timestamptz(3) not null,
  ip_address text,
  user_agent text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index sessions_by_user on sessions (user_id);
create index sessions_by_end on sessions (expires_at);

-- What a user proves who they are with: a password's hash, or what a provider calls them.
create table accounts (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  provider_id text not null,
  account_id text not null,
  password text,
  -- nothing is asked of a provider later, so these stay empty
  access_token text,
  refresh_token text,
  id_token text,
  access_token_expires_at timestamptz(3),
  refresh_token_expires_at timestamptz(3),
  scope text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- whoever a provider names is one user
  unique (provider_id, account_id),
  check ((provider_id = 'credential') = (password is not null)),
  check (num_nonnulls(access_token, refresh_token, id_token) = 0)
);
create index accounts_by_user on accounts (user_id);

-- What was begun and waits for its link, or for a provider's answer.
create table verifications (
  id uuid primary key,
  identifier text not null,
  value text not null,
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index verifications_by_identifier on verifications (identifier);
create index verifications_by_end on verifications (expires_at);

-- Links that make the first account, as SHA-256; there are none once there is an account.
create table first_account_links (
  hash bytea primary key check (length(hash) = 32),
  expires_at timestamptz(3) not null
);
