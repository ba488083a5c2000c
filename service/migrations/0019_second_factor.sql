-- Passkeys, authenticator apps and recovery codes, and when a session last proved itself. Sessions that exist now have
-- proved nothing yet: they confirm before the next sensitive change.
alter table sessions
  -- The last proof by password, passkey, authenticator app or mailed code; a provider's redirect is none.
  add column proven_at timestamptz(3),
  -- An account with a second factor is open only to sessions that have proved one.
  add column second_factor_at timestamptz(3);

create table passkeys (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  name text not null check (length(name) between 1 and 100),
  -- base64url, as WebAuthn writes it
  credential_id text collate "C" not null unique,
  public_key bytea not null,
  -- 0 for passkeys that are synchronised between devices
  counter bigint not null,
  created_at timestamptz(3) not null default now(),
  last_used_at timestamptz(3)
);
create index passkeys_by_user on passkeys (user_id);

-- The challenges of running WebAuthn ceremonies, as SHA-256; each is deleted when it is used.
create table passkey_challenges (
  hash bytea primary key check (length(hash) = 32),
  -- null: for signing in
  session_id uuid references sessions on delete cascade,
  expires_at timestamptz(3) not null
);
create index passkey_challenges_by_end on passkey_challenges (expires_at);
create index passkey_challenges_by_session on passkey_challenges (session_id);

create table authenticators (
  user_id uuid primary key references users on delete cascade,
  -- AES-256-GCM under SECRET_KEY, bound to the user's id
  secret bytea not null,
  -- null: set up, and no code entered yet
  confirmed_at timestamptz(3),
  -- the time step of the last code, so that no code works twice
  last_step bigint not null default 0,
  -- entered since `wrong_since`
  wrong_codes integer not null default 0,
  wrong_since timestamptz(3)
);

create table recovery_codes (
  user_id uuid not null references users on delete cascade,
  -- SHA-256 of a code of 80 random bits
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
