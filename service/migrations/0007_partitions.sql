-- A new day's partitions come without anybody waiting: a table is made beside its parent and then attached, which
-- reads and writes of the parent go on beside. Made as a partition at once it would lock the parent against all of
-- them, and behind one long read, such as a dump, every publish, claim and record would queue.

-- One partition a day and table, both days included. Cheap to repeat. What another session keeps locked is left for
-- the next turn without an error: days are made a week ahead.
create or replace function ensure_partitions(first_day date, last_day date) returns void
language plpgsql set search_path from current set lock_timeout = '200ms' as $$
declare
  parent text;
  day date;
  partition text;
begin
  -- Two processes that start at once must not create the same table.
  begin
    perform pg_advisory_xact_lock(70420002);
  exception when lock_not_available then
    return;
  end;
  foreach parent in array array['events', 'deliveries', 'attempts'] loop
    -- A table at a time: the lock is waited for once, whatever the number of days.
    begin
      for day in select generate_series(first_day, last_day, interval '1 day')::date loop
        partition := parent || '_' || to_char(day, 'YYYYMMDD');
        if to_regclass(partition) is null then
          execute format('create table %I (like %I including all)', partition, parent);
          execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, partition,
            uuid_v7_floor(day::timestamp at time zone 'utc'),
            uuid_v7_floor((day + 1)::timestamp at time zone 'utc'));
        end if;
      end loop;
    exception when lock_not_available then
      null;
    end;
  end loop;
end $$;
