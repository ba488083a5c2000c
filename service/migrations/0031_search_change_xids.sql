-- The transaction that wrote a note finds it by its own number at its end, so that it does not step over what others have noted
-- since the oldest open snapshot.
alter table search_changes add column xid xid8;
alter table search_changes alter column xid set default pg_current_xact_id();
