-- Cheaper, and in the order of microseconds: what one session makes stays in its order. The twelve bits after the version are
-- the fraction of the millisecond.
create function uuid_v7(at timestamptz, random uuid) returns uuid language sql stable parallel safe as $$
  -- Uses "at" once, because PostgreSQL only inlines such a function. 48 + 12 bits of time, with the version in between.
  select (overlay(lpad(to_hex((extract(epoch from at) * 4096000)::bigint), 15, '0') placing '7' from 13 for 0)
    || right(random::text, 17))::uuid
$$;

create or replace function uuid_v7(at timestamptz default clock_timestamp()) returns uuid language sql parallel safe as $$
  -- PostgreSQL has its own from 18 on; this one runs on 15.
  select orgdir.uuid_v7(at, gen_random_uuid())
$$;

-- Makes partitions for events that wait in the outbox. Usually there are some, but not if no worker ran for a week, or for
-- the id of a process of an earlier version, whose clock made it and may be wrong.
create function ensure_outbox_partitions() returns void language plpgsql set search_path to 'orgdir', 'public' as $$
declare
  today constant date := (clock_timestamp() at time zone 'utc')::date;
begin
  perform ensure_partitions(day, day)
  from (
    select distinct (uuid_v7_hour(id) at time zone 'utc')::date as day from outbox
    -- The delivery gets an id of its own, by the database's clock.
    union select today
  ) days
  -- An id that is further away is not a time. Without a bound, a few such rows could make thousands of tables.
  where abs(day - today) <= 400
  order by day;
end $$;
