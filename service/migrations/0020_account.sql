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
create index audit_log_by_user on audit_log (actor_id, at desc, id desc) where actor_kind = 'user';

-- When the inviter changes address, their invitations stay, and nothing is sent again.
drop trigger audit on app_invitations;
create trigger audit after insert or delete on app_invitations for each row execute function audit_app_invitations();
create trigger audit_resent after update on app_invitations for each row when (old.hash <> new.hash)
  execute function audit_app_invitations();
