create index concurrently alliance_managers_by_email on alliance_managers (email);
