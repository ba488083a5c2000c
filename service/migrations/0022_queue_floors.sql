-- The transaction that wrote a row, as in the outbox: looks for new rows begin at the oldest transaction that was still
-- open at the last look, and not at rows that are gone but in somebody's snapshot.

alter table published_events add column xid xid8 not null default pg_current_xact_id();
drop index published_events_to_take;
create index published_events_to_take on published_events (xid, id) where rejected_at is null;

alter table webhook_outcomes add column xid xid8 not null default pg_current_xact_id();
alter table webhook_outcomes drop constraint webhook_outcomes_pkey, add primary key (xid, seq);
drop index webhook_outcomes_by_webhook;
create index webhook_outcomes_by_webhook on webhook_outcomes (webhook_id, xid desc, seq desc);
