-- What recovery looks through: what can be recovered, and not the whole history of a webhook that does well.
create index deliveries_to_recover on deliveries (webhook_id, id) include (completed_at)
  where status = 'failed' or cancelled_by = 'deactivation';

-- Null: more waited than are cancelled at once, and nobody has counted them.
alter table operational_events alter column cancelled drop not null;
