-- What somebody made in the portal or the console in a request that may be repeated: the same request finds it.
create table creation_idempotency_keys (
  -- SHA-256 of the account with its key, and of what was asked for.
  key bytea primary key check (length(key) = 32),
  content bytea not null check (length(content) = 32),
  -- No foreign key: a repetition must still find that it was deleted.
  made_id uuid not null,
  expires_at timestamptz(3) not null
);
