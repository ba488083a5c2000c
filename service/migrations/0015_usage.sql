-- What each key and app used on each day (UTC). Without foreign keys: a day that counted stays countable when its app or
-- key is deleted, and whoever holds their rows keeps no counts back.

create table usage (
  day date not null,
  -- null: a platform key
  app_id uuid,
  -- null: deliveries to the webhooks of the app
  key_id uuid,
  requests bigint not null default 0,
  errors bigint not null default 0,
  bytes bigint not null default 0,
  events bigint not null default 0,
  deliveries bigint not null default 0,
  unique nulls not distinct (day, key_id, app_id)
);
create index usage_by_app on usage (app_id, day);
