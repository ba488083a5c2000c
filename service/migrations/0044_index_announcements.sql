-- The events of an organisation that is hidden or listed again.
create index concurrently events_announcing on events (org_id) where audience = 'global' and org_id is not null;
