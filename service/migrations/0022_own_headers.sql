-- Headers of their owner that deliveries to a webhook carry. The values are encrypted; the names are shown.

-- AES-256-GCM under SECRET_KEY, bound to this row's id. Null: none, as in all rows that a process of before writes.
alter table webhooks add column own_headers bytea, add column own_header_names text[];
