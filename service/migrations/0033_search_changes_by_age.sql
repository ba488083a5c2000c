create index concurrently search_changes_by_age on search_changes (at) where entries is null;
