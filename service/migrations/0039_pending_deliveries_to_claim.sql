create index concurrently pending_deliveries_to_claim on pending_deliveries (webhook_id, due_at, id) where parked;
