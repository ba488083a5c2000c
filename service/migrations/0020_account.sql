-- The new address of an account, until somebody who is signed in to the account proves that they have the mailbox. A
-- newer request replaces the older.
create table address_changes (
  user_id uuid primary key references users on delete cascade,
  email text collate "C" not null check (email = lower(btrim(email)) and email like '%_@_%'),
  -- SHA-256 of the token
  hash bytea not null unique check (length(hash) = 32),
  expires_at timestamptz(3) not null
);
create index address_changes_by_end on address_changes (expires_at);

-- A user's own entries, for the export of their data.
create index audit_log_by_user on audit_log (actor_id, id) where actor_kind = 'user';
