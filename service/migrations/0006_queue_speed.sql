-- What a delivery costs in the queue. A claim changes no indexed column, so that PostgreSQL writes it into the row's
-- own page and no index: leases are found by a table of their own, one row a claim.

drop index pending_deliveries_due;
drop index pending_deliveries_next;
drop index pending_deliveries_leased;
drop index pending_deliveries_by_event;

create table leases (
  -- of every delivery of the claim: only its holder may record them
  token uuid primary key,
  delivery_ids uuid[] not null check (cardinality(delivery_ids) > 0),
  leased_until timestamptz(3) not null
);
create index leases_by_end on leases (leased_until);

insert into leases (token, delivery_ids, leased_until)
select lease_token, array[id], leased_until from pending_deliveries where lease_token is not null;

alter table pending_deliveries
  drop column leased_until,
  -- whether its webhook's last attempt had failed when this was queued, or has since: such deliveries wait in a line
  -- of their own, where they keep nobody else waiting
  add column failing boolean not null default false,
  add check (num_nonnulls(lease_token, leased_at) in (0, 2)),
  -- room in each page for the row that a claim writes
  set (fillfactor = 50);
create index pending_deliveries_due on pending_deliveries (failing, due_at);
create index pending_deliveries_by_webhook on pending_deliveries (webhook_id, due_at);

-- To the microsecond: what happened just before an app was bound is not for it, and what happened just after is.
alter table events alter column created_at type timestamptz;
alter table bindings alter column created_at type timestamptz;

-- Whether a webhook's last attempt failed.
create function is_failing(last_success_at timestamptz, last_failure_at timestamptz)
returns boolean language sql immutable parallel safe as $$
  select coalesce(last_failure_at > coalesce(last_success_at, '-infinity'), false)
$$;

-- The one rule for who may have an event, for fan-out, for every attempt, and for reading what was sent. It looks
-- nothing up, so that PostgreSQL writes it into the statement that asks: a call for each delivery would cost more than
-- its row. The role of an app's owner needs no look: a binding ends with it. A binding opens what happens from then on,
-- so that a new one revives nothing of an old one.
create function may_receive(
  audience text, event_org uuid, event_alliance uuid, event_created timestamptz, org_listed boolean,
  bound_org uuid, bound_alliance uuid, bound_at timestamptz
) returns boolean language sql immutable parallel safe as $$
  select case audience
    when 'global' then event_org is null or coalesce(org_listed, false)
    when 'organization' then coalesce(bound_org = event_org and bound_at <= event_created, false)
    when 'alliance' then coalesce(bound_alliance = event_alliance and bound_at <= event_created, false)
    when 'webhook' then true
    else false
  end
$$;

-- The same for one event and one app, with the look-ups.
create or replace function app_may_receive(audience text, event_org uuid, event_alliance uuid, event_created timestamptz, app uuid)
returns boolean language sql stable as $$
  select may_receive(audience, event_org, event_alliance, event_created,
    (select listed from orgs where id = event_org), b.org_id, b.alliance_id, b.created_at)
  from (values (app)) as asked(app_id) left join bindings b on b.app_id = asked.app_id
$$;
