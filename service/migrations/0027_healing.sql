-- Webhooks that were deactivated as failing are probed, and activated when they respond again.
alter table webhooks
  add column self_healing boolean not null default true,
  add column replay_after_healing boolean not null default false;

create table webhook_healing (
  webhook_id uuid primary key references webhooks on delete cascade,
  -- The probes that have failed since the deactivation; null while the webhook is not probed.
  failed_probes integer check (failed_probes >= 0),
  -- Whether the last probe succeeded.
  succeeded boolean not null default false,
  -- The last three activations, oldest first.
  healed_at timestamptz(3)[] not null default '{}' check (cardinality(healed_at) <= 3),
  -- What was missed since then is to be replayed.
  replay_since timestamptz(3)
);
create index webhook_healing_to_replay on webhook_healing (webhook_id) where replay_since is not null;

alter table pending_deliveries drop constraint pending_deliveries_trigger_check;
alter table pending_deliveries add constraint pending_deliveries_trigger_check
  check (trigger in ('event', 'test', 'redelivery', 'probe'));
alter table webhook_outcomes drop constraint webhook_outcomes_verdict_check;
alter table webhook_outcomes add constraint webhook_outcomes_verdict_check
  check (verdict in ('succeeded', 'retry', 'failed', 'probe_succeeded', 'probe_failed'));
alter table operational_events drop constraint operational_events_kind_check;
alter table operational_events add constraint operational_events_kind_check
  check (kind in ('webhook.failing', 'webhook.deactivated', 'webhook.recovered', 'webhook.not_recovered'));
