-- A creation of a webhook that may be repeated: the same key of the same app, with the same body, gives the same response.
create table webhook_idempotency_keys (
  app_id uuid not null references apps on delete cascade,
  -- SHA-256 of the key, of the body, and of the secret that the response had.
  key bytea not null check (length(key) = 32),
  content bytea not null check (length(content) = 32),
  secret bytea not null check (length(secret) = 32),
  -- No foreign key: a repetition must still find that the webhook was deleted.
  webhook_id uuid not null,
  expires_at timestamptz(3) not null,
  primary key (app_id, key)
);
