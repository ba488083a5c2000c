-- An import looks up the names of its rows. `orgs_by_name` has the listed organisations only.
create index orgs_unlisted_by_name on orgs (name_sort) where not listed;
