-- The events that an app may have, in their order: those for everybody, and those of an organisation or alliance. The zeros
-- stand for everybody.
create index concurrently events_visible on events (name, (case audience when 'global' then '00000000-0000-0000-0000-000000000000'::uuid else coalesce(org_id, alliance_id) end), position) where position is not null and not hidden;
