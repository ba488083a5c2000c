-- What each run of a sync did, or why it failed, and when the next is due.

alter table sync_runs
  -- who asked for it
  add column trigger text not null default 'cli' check (trigger in ('schedule', 'cli', 'api')),
  -- as json, so that its numbers stay in their order
  add column counts json,
  -- the release that the source names
  add column version text,
  -- why it failed: a class, and words for people; neither ever holds a secret
  add column reason text,
  add column message text,
  -- rows that were left out, servers that gave no answer: the first hundred
  add column problems jsonb not null default '[]',
  -- what the source said of its state (ETag, Last-Modified), and the revision of the blueprints that came of it
  add column validators jsonb,
  add check ((status = 'running') = (finished_at is null)),
  add check ((status = 'failed') = (reason is not null)),
  add check ((status = 'succeeded') = (counts is not null));

-- When a scheduled sync is next due. In the database, so that several processes run each time once, and that a time
-- which passed while none ran is made up for.
create table sync_schedules (
  kind text primary key check (kind in ('blueprints', 'chat')),
  cron text not null,
  due_at timestamptz(3) not null,
  -- how often the due time was taken up without coming to an end: a run that ends its process must not do so for ever
  tries integer not null default 0 check (tries >= 0)
);
