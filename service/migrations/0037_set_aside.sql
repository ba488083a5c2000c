-- Rows that PostgreSQL or the code refused. They leave the table in which they waited, so that whatever comes after them
-- goes on, and wait here until somebody retries or drops them.
create table set_aside (
  id uuid primary key default uuid_v7(),
  -- The table that the row came from, and goes back to.
  source text not null check (source in
    ('published_events', 'outbox', 'pending_deliveries', 'webhook_outcomes', 'delivery_changes', 'operational_events')),
  stage text not null,
  original jsonb not null,
  -- The SQLSTATE; null for an exception in the code.
  code text,
  reason text not null check (length(reason) <= 2000),
  event_id uuid,
  delivery_id uuid,
  -- No foreign key: setting a row aside must not wait for whoever has locked the webhook.
  webhook_id uuid,
  set_aside_at timestamptz(3) not null default queue_now()
);
create index set_aside_by_webhook on set_aside (webhook_id, event_id);
create index set_aside_by_time on set_aside (set_aside_at);

create function drop_set_aside() returns trigger language plpgsql set search_path from current as $$
begin
  delete from set_aside where webhook_id in (select id from gone);
  return null;
end $$;
create trigger drop_set_aside after delete on webhooks referencing old table as gone
  for each statement execute function drop_set_aside();
