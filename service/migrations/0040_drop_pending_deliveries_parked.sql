-- pending_deliveries_to_claim has its columns, and an order that no other index has: plans made for an empty queue choose it too.
drop index pending_deliveries_parked;
