-- Whether a deactivation because of failures cancelled a delivery is kept with it, so that it stays known once the webhook is
-- active again. Null in what was cancelled before this migration, or by a process of before it: the statistics count those as
-- cancelled by somebody.
alter table deliveries add column by_failure boolean;
