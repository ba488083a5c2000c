-- The W3C trace context in which an event was recorded, for the deliveries of the event: null unless it is traced.
alter table outbox add column traceparent text;
alter table events add column traceparent text;
