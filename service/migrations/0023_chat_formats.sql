-- Webhooks that post into chat channels: docs/decisions/0059-chat-channels.md.

alter table webhooks
  -- json, discord, slack or teams. It never changes.
  add column format text not null default 'json',
  -- The whole URL of a chat channel, which is a credential, under SECRET_KEY; `url` then has its origin and `/…`. Null for json.
  add column sealed_url bytea;

-- The version of the texts that chat channels show of the event. A later version comes with another default.
alter table events add column template smallint not null default 1;

-- Until when nothing is sent to a chat webhook, or to anything of a platform.
create table chat_limits (
  -- The id of a webhook; discord, slack, or a host of Teams.
  name text primary key,
  open_at timestamptz(3) not null,
  -- Since when the platform has refused every message of the webhook, because it limits them.
  closed_since timestamptz(3),
  -- Responses for which Discord blocks an address if it gives too many in one window.
  invalid integer not null,
  window_ends_at timestamptz(3) not null
);
