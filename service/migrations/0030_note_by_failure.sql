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
      -- Nothing ends before it begins, unless the database's clock was put back meanwhile, by weeks perhaps.
      array_agg(greatest(0, least(extract(epoch from completed_at - created_at) * 1000, 2147483647))::int) filter (where counts),
      nullif(count(*) filter (where counts and by_failure), 0)
    from (select *, tg_op = 'INSERT' and first_outcome_ms is not null as counts from new_rows) new_rows
    group by webhook_id, event, status, hour, id_hour;
  end if;
  return null;
end $$;
