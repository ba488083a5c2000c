-- Who may open the console. Only a command names an operator.

create table operators (
  account_id uuid primary key references users on delete cascade,
  role text not null check (role in ('operator', 'read-only')),
  created_at timestamptz(3) not null default now()
);
