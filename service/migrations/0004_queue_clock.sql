-- The queue's one clock: when a delivery is due, and when a lease runs out. All workers read the database's, so
-- that they need not agree about the hour. A test that must not wait replaces this function in its own database.

create function queue_now() returns timestamptz language sql volatile parallel safe as $$
  select clock_timestamp()
$$;
