create index concurrently search_changes_by_xid on search_changes (xid);
