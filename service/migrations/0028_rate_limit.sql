-- The requests of each key in its current minute, over all API processes. Unlogged: a lease writes no WAL, so it waits for
-- no disk and no standby. After a crash of the database the counts begin again.
create unlogged table rate_windows (
  -- No foreign key: its check would lock the row of api_keys, which writes WAL.
  key_id uuid primary key,
  ends_at timestamptz not null,
  used bigint not null,
  -- What the last lease got: the statement cannot return it otherwise.
  granted integer not null
) with (fillfactor = 50);
