-- What the operator announces to developers: on the status page, in the API, in the portal, and by mail to owners who want it.

create table announcements (
  id uuid primary key default uuid_v7(),
  severity text not null check (severity in ('info', 'warning', 'critical')),
  text text not null check (length(text) between 1 and 500),
  -- When it takes place; null: now.
  starts_at timestamptz(3),
  -- Until when it is shown; null: until the operator ends it.
  ends_at timestamptz(3),
  created_at timestamptz(3) not null default now()
);
create constraint trigger move_revision after insert or update or delete on announcements
  deferrable initially deferred for each row execute function move_revision('system');

-- Whether an owner of apps wants announcements by mail.
alter table users add column announcement_mails boolean not null default true;
