create index concurrently entry_changes_to_announce on entry_changes (announce_at) where announce_at is not null;
