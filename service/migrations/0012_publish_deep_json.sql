-- `publish_event` as 0010 made it, but for JSON that is nested deeper than the server's stack: refused in words, like
-- all else that is wrong with a call.
create or replace function publish_event(name text, data text default null, org_slug text default null, alliance_slug text default null)
returns uuid language plpgsql volatile security definer set search_path = pg_catalog, orgdir, pg_temp as $$
#variable_conflict use_column
declare
  kind orgdir.event_kinds;
  needed text;
  given text;
  of_org uuid;
  of_alliance uuid;
  is_listed boolean;
  bytes constant integer := octet_length(publish_event.data);
  called_at constant timestamptz := clock_timestamp();
  -- A UUIDv7 whose twelve bits after the version are the microseconds: what one session publishes stays in its order.
  new_id constant uuid := encode(overlay(uuid_send(orgdir.uuid_v7(called_at)) placing
    substring(int4send(28672 + floor(mod(extract(epoch from called_at) * 1000, 1) * 4096)::integer) from 3 for 2)
    from 7 for 2), 'hex')::uuid;
  noun text;
begin
  select * into kind from orgdir.event_kinds k where k.name = publish_event.name;
  if not found then
    raise exception 'publish_event: there is no event %', coalesce(quote_literal(left(publish_event.name, 80)), 'null')
      using errcode = 'invalid_parameter_value', hint = (select 'Name one of ' || string_agg(k.name, ', ' order by k.name) || '.'
        from orgdir.event_kinds k where k.subject is not null);
  end if;
  if kind.subject is null then
    raise exception 'publish_event: % comes only from what it tells of, and cannot be published', kind.name
      using errcode = 'invalid_parameter_value', hint = 'The service records it itself; leave the call out.';
  end if;

  noun := case kind.subject when 'organization' then 'organisation' else 'alliance' end;
  if (case kind.subject when 'organization' then alliance_slug else org_slug end) is not null then
    raise exception 'publish_event: % is about an %, and % does not go with it', kind.name, noun,
      case kind.subject when 'organization' then 'alliance_slug' else 'org_slug' end
      using errcode = 'invalid_parameter_value', hint = format('Leave it null, and give %s.',
        case kind.subject when 'organization' then 'org_slug' else 'alliance_slug' end);
  end if;
  needed := case kind.subject when 'organization' then 'org_slug' else 'alliance_slug' end;
  given := case kind.subject when 'organization' then org_slug else alliance_slug end;
  if given is null then
    raise exception 'publish_event: % is about an %, and % is null', kind.name, noun, needed
      using errcode = 'invalid_parameter_value', hint = format('Give its slug, such as %s => ''acme-corporation''.', needed);
  end if;
  if kind.subject = 'organization' then
    select o.id, o.listed into of_org, is_listed from orgdir.orgs o where o.slug = given;
  else
    select a.id into of_alliance from orgdir.alliances a where a.slug = given;
  end if;
  if coalesce(of_org, of_alliance) is null then
    raise exception 'publish_event: there is no % %', noun, quote_literal(left(given, 80))
      using errcode = 'no_data_found', hint = 'Put it into the directory first, or give the slug that it has there.';
  end if;

  if not kind.supplied then
    if publish_event.data is not null then
      raise exception 'publish_event: the data of % is made by the service', kind.name
        using errcode = 'invalid_parameter_value', hint = 'Give null; everybody is told, so nothing private may come in.';
    end if;
    if not is_listed then
      raise exception 'publish_event: % is not listed, so it is not announced', given
        using errcode = 'invalid_parameter_value', hint = 'List it: that announces it by itself.';
    end if;
  else
    if publish_event.data is null then
      raise exception 'publish_event: % needs data: what happened, as a JSON object', kind.name
        using errcode = 'invalid_parameter_value', hint = 'The API reference shows what it holds, inside the ids and names that the service adds.';
    end if;
    if bytes > 65536 then
      raise exception 'publish_event: data has % bytes, and at most 65536 are taken', bytes
        using errcode = 'invalid_parameter_value', hint = 'Give an address where the rest can be read.';
    end if;
    begin
      perform publish_event.data::json;
    exception when invalid_text_representation then
      raise exception 'publish_event: data is not JSON' using errcode = 'invalid_parameter_value',
        hint = 'Build it with json_build_object, or check the text.';
    when statement_too_complex then
      raise exception 'publish_event: data is nested too deep' using errcode = 'invalid_parameter_value',
        hint = 'Give it fewer levels: no event has as many as sixteen.';
    end;
  end if;

  insert into orgdir.published_events (id, name, org_id, alliance_id, data, created_at)
  values (new_id, kind.name, of_org, of_alliance, publish_event.data, called_at);
  perform pg_notify('orgdir_published', '');
  return new_id;
end $$;
