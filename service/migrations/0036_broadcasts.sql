-- Events for many webhooks, while fan-out makes their deliveries in slices, in the order of the webhooks' ids.
create table broadcasts (
  event_id uuid primary key,
  position bigint not null unique,
  -- The last webhook that the slices so far have looked at.
  reached uuid not null default '00000000-0000-0000-0000-000000000000',
  advanced_at timestamptz(3) not null default queue_now()
);
