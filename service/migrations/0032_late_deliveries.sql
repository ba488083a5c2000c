-- Retention asks whether a pending delivery needs the events of a day. A delivery is made right after its event, so its own
-- id tells, unless its event waited for long or is sent again. Those deliveries are in this index: their id and that of
-- their event differ in the first six digits, which change every 2^24 ms, or 4.7 hours.
create index pending_deliveries_late on pending_deliveries (event_id) where left(id::text, 6) <> left(event_id::text, 6);
