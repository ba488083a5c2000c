-- Statistics tell the deliveries that were cancelled because their webhook failed from those cancelled by its owner, the
-- operator or a lost permission. What is counted before this migration, or added by a process of before it, is not told
-- apart and counts as the latter.

alter table delivery_changes add column by_failure integer;
alter table webhook_stats add column by_failure bigint not null default 0;

create or replace function note_delivery_changes() returns trigger language plpgsql set search_path from current as $$
begin
  if tg_op <> 'INSERT' then
    insert into delivery_changes (webhook_id, event, status, hour, id_hour, deliveries)
    select webhook_id, event, status, date_bin('1 hour', created_at, 'epoch') as hour, uuid_v7_hour(id) as id_hour, -count(*)
    from old_rows group by webhook_id, event, status, hour, id_hour;
  end if;
  if tg_op <> 'DELETE' then
    insert into delivery_changes (webhook_id, event, status, hour, id_hour, deliveries, durations, delays, by_failure)
    select webhook_id, event, status, date_bin('1 hour', created_at, 'epoch') as hour, uuid_v7_hour(id) as id_hour, count(*),
      array_agg(first_outcome_ms) filter (where counts),
      array_agg(least(extract(epoch from completed_at - created_at) * 1000, 2147483647)::int) filter (where counts),
      -- The webhook is read once per group, and only for deliveries that its deactivation cancelled.
      case when count(*) filter (where counts and cancelled_by = 'deactivation') > 0
        and (select deactivated_reason from webhooks where webhooks.id = new_rows.webhook_id) in ('failing', 'gone')
        then count(*) filter (where counts and cancelled_by = 'deactivation') end
    from (select *, tg_op = 'INSERT' and first_outcome_ms is not null as counts from new_rows) new_rows
    group by webhook_id, event, status, hour, id_hour;
  end if;
  return null;
end $$;
