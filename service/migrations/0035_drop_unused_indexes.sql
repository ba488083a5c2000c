-- Filters and facets run in the memory of each process.
drop index orgs_by_language;
drop index orgs_by_primary_activity;
drop index orgs_by_secondary_activity;
drop index blueprints_by_category;
drop index blueprints_by_ingredient;
