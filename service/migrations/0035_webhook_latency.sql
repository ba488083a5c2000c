-- How long the last attempt of a webhook took, so that every process knows from its start which receivers are slow.
-- Null if none has ended since this migration.
alter table webhook_outcomes add column duration_ms integer;
alter table webhook_health add column latency_ms integer;
