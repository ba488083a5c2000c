-- `webhook.recovered` is an owner's recovery in the audit log.
alter table operational_events drop constraint operational_events_kind_check;
update operational_events set kind = replace(kind, 'recovered', 'healed') where kind in ('webhook.recovered', 'webhook.not_recovered');
alter table operational_events add constraint operational_events_kind_check
  check (kind in ('webhook.failing', 'webhook.deactivated', 'webhook.healed', 'webhook.not_healed'));

-- Retention looks for the rows of past hours.
create index webhook_stats_by_hour on webhook_stats (hour);
