create index concurrently audit_log_by_action on audit_log (action, at desc, id desc);
