-- Exports under way: one for each account. A row whose process is gone ends by itself.
create table account_exports (
  user_id uuid primary key references users on delete cascade,
  id uuid not null,
  ends_at timestamptz(3) not null
);
