-- Probes that a suspension has stopped, for when the webhook is restored.
alter table webhook_healing
  -- Whether the webhook was probed when it was suspended, and nobody has ended the probes since.
  add column paused boolean not null default false;
