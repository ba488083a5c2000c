-- What attempts say about a webhook, apart from its row: fan-out and the check before each attempt read that row, and
-- would step over all of its versions that somebody's snapshot keeps. A new state is a new row, and the row that it
-- replaces is deleted, so the queue finds the latest one first, however many a snapshot keeps.

create table webhook_health (
  webhook_id uuid not null references webhooks on delete cascade,
  version bigint generated always as identity,
  last_success_at timestamptz(3),
  last_failure_at timestamptz(3),
  exhausted_in_a_row integer not null check (exhausted_in_a_row >= 0),
  primary key (webhook_id, version)
);

insert into webhook_health (webhook_id, last_success_at, last_failure_at, exhausted_in_a_row)
select id, last_success_at, last_failure_at, exhausted_in_a_row from webhooks
where num_nonnulls(last_success_at, last_failure_at) > 0 or exhausted_in_a_row > 0;

alter table webhooks drop column last_success_at, drop column last_failure_at, drop column exhausted_in_a_row;
