-- What the owner of a webhook must hear of: it begins to fail for good, or it is deactivated. And the mail about it.

create table operational_events (
  id uuid primary key default uuid_v7(),
  app_id uuid not null references apps on delete cascade,
  -- a webhook that is deleted takes them along: nobody can get it back, and nobody need be told
  webhook_id uuid not null references webhooks on delete cascade,
  kind text not null check (kind in ('webhook.failing', 'webhook.deactivated')),
  reason text check (reason in ('failing', 'gone')),
  -- of the last attempt
  status_code integer check (status_code between 100 and 999),
  error text check (error in ('dns', 'connect', 'tls', 'timeout', 'blocked', 'reset')),
  exhausted_in_a_row integer not null check (exhausted_in_a_row >= 0),
  -- deliveries that waited and that deactivation ended
  cancelled integer not null default 0 check (cancelled >= 0),
  -- the host of the address alone: its path or query may hold the owner's token
  host text not null,
  last_success_at timestamptz(3),
  created_at timestamptz(3) not null default queue_now(),
  -- earlier ones of its kind that its mail tells of too, because they had none of their own
  repeats integer not null default 0 check (repeats >= 0),
  -- while a mail is to come; null, with neither of the two below, where a later event's mail tells of it
  next_mail_at timestamptz(3),
  -- while one is under way
  mail_leased_until timestamptz(3),
  mail_attempts integer not null default 0 check (mail_attempts between 0 and 8),
  mailed_at timestamptz(3),
  given_up_at timestamptz(3),
  -- of the last try: a class, never the words of a server
  mail_error text,
  check ((kind = 'webhook.deactivated') = (reason is not null)),
  check (num_nonnulls(next_mail_at, mailed_at, given_up_at) <= 1),
  check (mail_leased_until is null or next_mail_at is not null)
);
create index operational_events_by_webhook on operational_events (webhook_id, created_at desc, id desc);
create index operational_events_by_app on operational_events (app_id, created_at desc, id desc);
create index operational_events_by_time on operational_events (created_at);
create index operational_events_to_mail on operational_events (next_mail_at) where next_mail_at is not null;
