create index concurrently org_managers_by_email on org_managers (email);
