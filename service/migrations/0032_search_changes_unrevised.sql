create index concurrently search_changes_unrevised on search_changes (xid) where revision is null;
