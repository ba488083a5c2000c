create index concurrently search_changes_to_fold on search_changes (revision) where entries is not null;
