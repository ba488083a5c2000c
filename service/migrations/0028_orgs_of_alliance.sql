create index concurrently orgs_of_alliance on orgs (alliance_id) where alliance_id is not null;
