-- Quotas that an operator has set for an app, and mails to owners that are neither about a webhook nor an answer to a request.

create table app_quotas (
  app_id uuid not null references apps on delete cascade,
  quota text not null check (quota in ('rate', 'webhooks', 'keys', 'members')),
  maximum integer not null check (maximum > 0),
  primary key (app_id, quota)
);
-- Processes keep the rate of apps in memory while this revision is current.
create constraint trigger move_revision after insert or update or delete on app_quotas
  deferrable initially deferred for each row execute function move_revision('access');

create table notices (
  id uuid primary key,
  recipient text not null,
  -- Nobody gets two about one topic: rows outlive their mails.
  topic text not null,
  kind text not null,
  app_id uuid references apps on delete cascade,
  details jsonb not null,
  created_at timestamptz(3) not null default queue_now(),
  attempts integer not null default 0,
  -- null: sent or given up. While an attempt is made, when another process may make the next.
  next_attempt_at timestamptz(3) default queue_now(),
  -- Nobody needs the mail afterwards; null: it says nothing that passes.
  not_after timestamptz(3),
  unique (recipient, topic)
);
create index notices_due on notices (next_attempt_at) where next_attempt_at is not null;
create index notices_by_app on notices (app_id) where app_id is not null;
create index notices_by_age on notices (created_at);
