-- Whoever owned an app when it was deleted still sees its entries in the audit log; only the log knows by then who that was.
create index audit_log_of_deleted_apps on audit_log ((details->>'owner'), app_id) where action = 'app.deleted';
create index audit_log_by_subject on audit_log (subject_id);
