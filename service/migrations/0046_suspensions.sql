-- What an operator has suspended. A row goes with what it is about.
create table suspensions (
  account_id uuid unique references users on delete cascade,
  app_id uuid unique references apps on delete cascade,
  webhook_id uuid unique references webhooks on delete cascade,
  key_id uuid unique references api_keys on delete cascade,
  -- As its owners read it.
  reason text not null check (length(reason) between 1 and 500),
  suspended_at timestamptz(3) not null default now(),
  check (num_nonnulls(account_id, app_id, webhook_id, key_id) = 1)
);
-- Processes keep the callers of keys in memory while this revision is current.
create constraint trigger move_revision after insert or update or delete on suspensions
  deferrable initially deferred for each row execute function move_revision('access');

-- A suspended webhook is inactive, so that processes of the version before stop sending too. This reason says that it
-- was active before.
alter table webhooks drop constraint webhooks_deactivated_reason_check,
  add constraint webhooks_deactivated_reason_check
    check (deactivated_reason in ('failing', 'gone', 'owner', 'suspended')) not valid;
alter table deliveries drop constraint deliveries_cancelled_by_check,
  add constraint deliveries_cancelled_by_check
    check (cancelled_by in ('deactivation', 'permission', 'deletion', 'suspension')) not valid;
