-- Accounts exist only for addresses that are proven. A sign-up stores a link and nothing else.

-- Unverified accounts own nothing. Whoever made one may have set its password or linked a provider without having the
-- mailbox, so they go, with everything attached to them; their owners sign up again.
delete from users where not email_verified;
-- Everybody signs in again: a session may be of somebody who had signed up with another's address.
delete from sessions;
drop index users_unverified;
alter table users add constraint users_proven check (email_verified);

-- Links mailed before this version held their token in the clear or could be used by a GET.
delete from verifications;

-- One link for each address, so a newer one replaces the older. Whoever opens it has the mailbox, and sets the password
-- of the account, which is created if there is none yet.
create table password_links (
  email text collate "C" primary key check (email = lower(btrim(email)) and email like '%_@_%'),
  -- SHA-256 of the token
  hash bytea not null unique check (length(hash) = 32),
  expires_at timestamptz(3) not null
);
create index password_links_by_end on password_links (expires_at);

create index audit_log_by_account on audit_log (subject_id, at desc, id desc) where subject_kind = 'account';
