-- Who signs in to the portal. better-auth expects the names and columns of `users`, `sessions`, `accounts` and
-- `verifications` (service/src/sign-in/auth.ts).

-- --- accounts and sessions ---------------------------------------------------------------------------

-- An account exists only for an address that is proven. A sign-up stores a link and nothing else.
create table users (
  id uuid primary key,
  name text not null,
  -- Trimmed and in lower case, as the addresses of members and managers are.
  email text collate "C" not null unique check (email = lower(btrim(email)) and email like '%_@_%'),
  email_verified boolean not null default false,
  image text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint users_proven check (email_verified)
);

create table sessions (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  token text not null unique,
  expires_at timestamptz(3) not null,
  ip_address text,
  user_agent text,
  -- The last proof by password, passkey, authenticator app or mailed code; a provider's redirect is none.
  proven_at timestamptz(3),
  -- An account with a second factor is open only to sessions that have proved one.
  second_factor_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index sessions_by_user on sessions (user_id);
create index sessions_by_end on sessions (expires_at);

-- How a user proves who they are: a password's hash, or the id that a provider gave them.
create table accounts (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  provider_id text not null,
  account_id text not null,
  password text,
  -- Nothing is asked of a provider later, so these stay empty.
  access_token text,
  refresh_token text,
  id_token text,
  access_token_expires_at timestamptz(3),
  refresh_token_expires_at timestamptz(3),
  scope text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- An identity at a provider is one user.
  unique (provider_id, account_id),
  check ((provider_id = 'credential') = (password is not null)),
  check (num_nonnulls(access_token, refresh_token, id_token) = 0)
);
create index accounts_by_user on accounts (user_id);

-- What was begun and waits for a provider's response.
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

-- Exports that are being written: one for each account. A row whose process is gone ends by itself.
create table account_exports (
  user_id uuid primary key references users on delete cascade,
  id uuid not null,
  ends_at timestamptz(3) not null
);

-- Who may not sign up: an address, a domain with its subdomains, or `*` for everybody.
create table sign_up_blocks (
  pattern text collate "C" primary key check (pattern = lower(btrim(pattern)) and pattern <> ''),
  created_at timestamptz(3) not null default now()
);

-- --- mailed links ------------------------------------------------------------------------------------
-- Tokens are stored as SHA-256.

-- Links that create the first account; there are none once there is an account.
create table first_account_links (
  hash bytea primary key check (length(hash) = 32),
  expires_at timestamptz(3) not null
);

-- One link for each address, so a newer one replaces the older. Whoever opens it has the mailbox, and sets the password of
-- the account, which is created if there is none yet.
create table password_links (
  email text collate "C" primary key check (email = lower(btrim(email)) and email like '%_@_%'),
  hash bytea not null unique check (length(hash) = 32),
  -- A link either creates an account or resets one. The triggers below also hold for whatever else creates an account.
  creates_account boolean not null,
  expires_at timestamptz(3) not null
);
create index password_links_by_end on password_links (expires_at);

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

-- The new address of an account, until somebody who is signed in to the account proves that they have the mailbox. A newer
-- request replaces the older.
create table address_changes (
  user_id uuid primary key references users on delete cascade,
  email text collate "C" not null check (email = lower(btrim(email)) and email like '%_@_%'),
  hash bytea not null unique check (length(hash) = 32),
  expires_at timestamptz(3) not null
);
create index address_changes_by_end on address_changes (expires_at);

-- --- second factor and proofs ------------------------------------------------------------------------

create table passkeys (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  name text not null check (length(name) between 1 and 100),
  -- base64url, as WebAuthn writes it.
  credential_id text collate "C" not null unique,
  public_key bytea not null,
  -- 0 for passkeys that are synchronised between devices.
  counter bigint not null,
  created_at timestamptz(3) not null default now(),
  last_used_at timestamptz(3)
);
create index passkeys_by_user on passkeys (user_id);

-- The challenges of running WebAuthn ceremonies, as SHA-256; each is deleted when it is used.
create table passkey_challenges (
  hash bytea primary key check (length(hash) = 32),
  -- Null for signing in.
  session_id uuid references sessions on delete cascade,
  expires_at timestamptz(3) not null
);
create index passkey_challenges_by_end on passkey_challenges (expires_at);
create index passkey_challenges_by_session on passkey_challenges (session_id);

create table authenticators (
  user_id uuid primary key references users on delete cascade,
  -- AES-256-GCM under SECRET_KEY, bound to the user's id.
  secret bytea not null,
  -- Null: set up, and no code entered yet.
  confirmed_at timestamptz(3),
  -- The time step of the last code, so that no code works twice.
  last_step bigint not null default 0,
  -- Entered since `wrong_since`.
  wrong_codes integer not null default 0,
  wrong_since timestamptz(3)
);

create table recovery_codes (
  user_id uuid not null references users on delete cascade,
  -- SHA-256 of a code of 80 random bits.
  hash bytea not null check (length(hash) = 32),
  primary key (user_id, hash)
);

-- The mailed code with which a session can confirm.
create table confirmation_codes (
  session_id uuid primary key references sessions on delete cascade,
  hash bytea not null check (length(hash) = 32),
  tries integer not null default 0,
  expires_at timestamptz(3) not null
);
