/**
 * Explains why a webhook did or did not get an event. The conditions are those of fan-out (`may_receive` and
 * `takes_event`), over the settings that were valid then (`webhook_versions` and `binding_versions`). An event that the app may not have gives
 * the same result as one that does not exist, from the same statement.
 */
import type { Explanation } from '../../contract/explanation.ts';
import { toUtc, fromRow } from '../../contract/parse-time.ts';
import { Delivery } from '../../contract/webhook.ts';
import { sql, type Executor, type LeftJoined } from '../../database/database.ts';
import { ServiceError } from '../../errors.ts';
import { catalogueEntry } from '../../events/catalogue.ts';
import { idFloor } from '../history/ended-deliveries.ts';
import { endedColumns, pendingColumns, type DeliveryRow } from './deliveries.ts';
import { idBySlug } from './search-deliveries.ts';

export type Explained = { appId: string; webhookId: string };
/** An event that the caller cannot name by its id: one of the `subjectEvents`, and the slug of its subject. */
export type EventAt = { event: string; slug: string; at: Date };
type Checks = Explanation['checks'];
type Verdict = Pick<Explanation, 'result' | 'message'>;

type EventColumns = { known_id: string; name: string; happened_at: Date; waits: boolean };
type DeliveryColumns = DeliveryRow & { cancelled_by: string | null };
type Row = {
  explained_webhook: string;
  asked_id: string;
  at: Date | null;
  /** Whether the app may have the event now. */
  allowed: boolean;
  sent: boolean;
  aside: boolean;
  unreadable: boolean;
} & Checks &
  LeftJoined<EventColumns> &
  LeftJoined<DeliveryColumns>;

type TimeRow = Checks & {
  sent: boolean;
  named: boolean;
  filtered: boolean;
  nearby: Explanation['nearby'] | null;
};

/**
 * The delivery of `e` to `w`. A fan-out makes the deliveries of an event when it stores it, so only those of that time are read,
 * of all webhooks: of the same second, and of the minutes around only if there must be one.
 */
function deliveryOf(days: ReturnType<typeof sql>) {
  const within = (slack: ReturnType<typeof sql>) => {
    const isOfEvent = sql`
      webhook_id = w.id and event_id = e.id
      and id >= uuid_v7_floor(e.fanned_out_at - ${slack}) and id < uuid_v7_floor(e.fanned_out_at + ${slack})
    `;
    return sql`
      select ${pendingColumns}, null as cancelled_by from pending_deliveries where ${isOfEvent}
      union all
      select ${endedColumns}, cancelled_by from deliveries where ${isOfEvent} and ${days}
    `;
  };
  return sql`
    ${within(sql`interval '1 second'`)}
    union all
    (select made.* from (${within(sql`interval '1 minute'`)}) made where sent or v.id is null)
    limit 1
  `;
}

/**
 * A condition on the ids of deliveries that is known before the statement is planned: otherwise it is planned over every day of
 * history, which takes longer than to run it. An event that is not stored yet may be at any moment. One that never will be
 * takes as long as one that the app may not have.
 */
async function daysOf(executor: Executor, eventIds: string[]): Promise<ReturnType<typeof sql>> {
  const { rows } = await sql<{ first: string; last: string }>`
    select uuid_v7_floor(least(first, now) - interval '1 minute') as first, uuid_v7_floor(greatest(last, now) + interval '1 minute') as last
    from (
      select min(fanned_out_at) as first, max(fanned_out_at) as last,
        case when count(*) < greatest(${eventIds.length}::int, 1) then clock_timestamp() end as now
      from events where id = any(${eventIds}::uuid[])
    ) times
  `.execute(executor);
  const [days] = rows;
  return days ? sql`id >= ${days.first}::uuid and id < ${days.last}::uuid` : sql`true`;
}

/** Ids of events are of the minute around their time, but for differences of clocks. */
const nearbyMs = 120_000;

/** The latest events that wait for fan-out. An earlier one is explained once it has been processed. */
const waitingMax = 10_000;

/** Explains one event. Throws `not_found` if the app does not have the webhook. */
export async function explainEvent(
  executor: Executor,
  { appId, webhookId }: Explained,
  eventId: string,
): Promise<Explanation> {
  const [explained] = await explainEvents(executor, appId, [eventId], webhookId);
  if (!explained) throw new ServiceError('not_found');
  return explained.explanation;
}

/** Explains events, each for one webhook of an app or for all of them. */
export async function explainEvents(
  executor: Executor,
  appId: string,
  eventIds: string[],
  webhookId: string | null = null,
): Promise<{ eventId: string; explanation: Explanation }[]> {
  const days = await daysOf(executor, eventIds);
  const { rows } = await sql<Row>`
    -- Apart, so that each event is looked up once, and not for each webhook.
    with asked as materialized (
      select asked.id as asked_id, e.* from unnest(${eventIds}::uuid[]) asked(id) left join lateral (
        select id, name, audience, org_id, alliance_id, data, created_at, fanned_out_at, org_listed, false as queued, false as aside
        from events where id = asked.id and id = any(${eventIds}::uuid[]) and position is not null
        union all
        select id, name, audience, org_id, alliance_id, data, created_at, null, null, true, true
        from (
          select r.* from set_aside s cross join lateral jsonb_populate_record(null::outbox, original) r
          where s.webhook_id is null and s.event_id = asked.id and source = 'outbox'
        ) refused
        union all
        select id, name, audience, org_id, alliance_id, data, created_at, null, null, true, false
        -- The events that wait have no index by id.
        from (select * from outbox order by xid desc, id desc limit ${waitingMax}) waiting where id = asked.id
        limit 1
      ) e on true
    )
    select d.*, w.id as explained_webhook, asked_id, e.id as known_id, e.name, e.created_at as happened_at,
      queued or exists (select from broadcasts where event_id = e.id and w.id > reached) as waits, e.fanned_out_at as at,
      coalesce(may_receive(e.audience, e.org_id, e.alliance_id, e.created_at,
        (select o.listed from orgs o where o.id = e.org_id), b.org_id, b.alliance_id, b.created_at), false) as allowed,
      sent, coalesce(e.aside, false) or exists (
        select from set_aside a where a.webhook_id = w.id and a.event_id = e.id and a.delivery_id is not null
      ) as aside,
      case when e.audience <> 'global' and bv.id is not null then coalesce(bv.org_id = e.org_id or bv.alliance_id = e.alliance_id, false) end as bound,
      case when e.audience = 'global' and e.org_id is not null then e.org_listed end as listed,
      filtered and not passed and readable is null as unreadable,
      case when filtered then passed end as passed, ${webhookChecks(sql`e.fanned_out_at`, sql`e.name`)}
    from webhooks w
    cross join asked e
    left join bindings b on b.app_id = w.app_id
    ${versionsAt(sql`e.fanned_out_at`)}
    cross join lateral (
      select *, ${isFiltered(sql`e.name`)} as filtered, passes_filter(v.filter_path, e.name, readable) as passed
      from (select case when v.filter_path is not null then filterable(e.data) end as readable offset 0) read
      -- So that each is evaluated once.
      offset 0
    ) filter
    cross join lateral (
      select coalesce(takes_event(v.active, v.events, e.name) and passed and may_receive(e.audience, e.org_id, e.alliance_id, e.created_at,
        e.org_listed, bv.org_id, bv.alliance_id, bv.bound_at), false) as sent
    ) settings
    left join lateral (${deliveryOf(days)}) d on true
    where w.app_id = ${appId} and ${webhookId === null ? sql`true` : sql`w.id = ${webhookId}`}
    order by w.id
  `.execute(executor);
  return rows.map((row) => ({ eventId: row.asked_id, explanation: toExplanation(row) }));
}

function toExplanation(row: Row): Explanation {
  const available = isAvailable(row);
  return {
    webhookId: row.explained_webhook,
    ...verdictOfEvent(row),
    at: available ? (row.at?.toISOString() ?? null) : null,
    event: available ? toEvent(row) : null,
    checks: available ? checksOf(row) : noChecks,
    unknown: available && !row.waits ? unknownChecks(row, row.name ?? '') : [],
    delivery: row.id === null ? null : fromRow(Delivery, row),
    nearby: [],
  };
}

/**
 * Explains an event by its name, subject and time. A former slug counts while nobody else can get it. A slug that does not
 * exist is like one that is not public, or to which the app was not bound. Throws `not_found` if the app does not have the webhook.
 */
export async function explainTime(
  executor: Executor,
  { appId, webhookId }: Explained,
  { event, slug, at }: EventAt,
): Promise<Explanation> {
  const audience = catalogueEntry(event)?.audience ?? '';
  const isOrg = audience === 'organization' || event.startsWith('org.');
  const time = sql`${at.toISOString()}::timestamptz`;
  const { rows } = await sql<TimeRow>`
    select
      coalesce(takes_event(v.active, v.events, ${event}) and may_receive(${audience}, s.org_id, s.alliance_id, ${time}, true,
        bv.org_id, bv.alliance_id, bv.bound_at), false) as sent,
      ${audience}::text <> 'global' or coalesce(s.listed, false) as named,
      case when ${audience}::text <> 'global' and bv.id is not null
        then coalesce(bv.org_id = s.org_id or bv.alliance_id = s.alliance_id, false) end as bound,
      null::boolean as listed, null::boolean as passed, ${isFiltered(sql`${event}`)} as filtered,
      ${webhookChecks(time, sql`${event}`)},
      (
        select json_agg(json_build_object('id', n.id, 'name', n.name, 'createdAt', n.created_at) order by n.position)
        from (
          select id, name, created_at, position from events e
          where e.id >= ${idFloor(at.getTime() - nearbyMs)} and e.id < ${idFloor(at.getTime() + nearbyMs)}
            and e.created_at between ${time} - interval '1 minute' and ${time} + interval '1 minute'
            and e.name = ${event} and e.position is not null and (e.org_id = s.org_id or e.alliance_id = s.alliance_id)
            and may_receive(e.audience, e.org_id, e.alliance_id, e.created_at,
              (select o.listed from orgs o where o.id = e.org_id), b.org_id, b.alliance_id, b.created_at)
          order by position limit 20
        ) n
      ) as nearby
    from webhooks w
    left join bindings b on b.app_id = w.app_id
    left join lateral (
      select id as org_id, null::uuid as alliance_id, listed from orgs
      where ${isOrg} and id = ${idBySlug('orgs', slug, sql`${audience}::text`)}
      union all
      select null, id, true from alliances
      where not ${isOrg} and id = ${idBySlug('alliances', slug, sql`${audience}::text`)}
    ) s on true
    ${versionsAt(time)}
    where w.id = ${webhookId} and w.app_id = ${appId}
  `.execute(executor);
  const [row] = rows;
  if (!row) throw new ServiceError('not_found');
  return toTimeExplanation(row, webhookId, event, at);
}

function toTimeExplanation(row: TimeRow, webhookId: string, event: string, at: Date): Explanation {
  const checks = checksOf(row);
  // JSON made by PostgreSQL has times in another format.
  const nearby = (row.nearby ?? []).map(({ id, name, createdAt }) => ({
    id,
    name,
    createdAt: toUtc(createdAt),
  }));
  return {
    webhookId,
    ...verdictOfTime(row, nearby.length > 0, event),
    at: at.toISOString(),
    event: null,
    checks,
    unknown: unknownChecks(checks, event),
    delivery: null,
    nearby,
  };
}

function verdictOfTime(row: TimeRow, hasNearby: boolean, event: string): Verdict {
  if (!row.sent) return verdictOfChecks(checksOf(row), event);
  return row.named
    ? { result: 'would_send', message: wouldSend(hasNearby, row.filtered) }
    : noSubject;
}

/** The settings at a time: `v` of the webhook, `bv` of its app's binding. */
function versionsAt(time: ReturnType<typeof sql>) {
  return sql`
    left join webhook_versions v on v.webhook_id = w.id and v.valid_from <= ${time} and coalesce(v.valid_to > ${time}, true)
    left join binding_versions bv on bv.app_id = w.app_id and bv.valid_from <= ${time} and coalesce(bv.valid_to > ${time}, true)
  `;
}

/** Whether the filters of the version `v` name the event: data that is no object passes only others. */
function isFiltered(name: ReturnType<typeof sql>) {
  return sql`not passes_filter(v.filter_path, ${name}, null)`;
}

function webhookChecks(time: ReturnType<typeof sql>, name: ReturnType<typeof sql>) {
  return sql`
    case when v.id is not null then true when ${time} < w.created_at then false end as existed,
    v.active, case when v.id is not null then takes_event(true, v.events, ${name}) end as subscribed
  `;
}

function isAvailable({ id, allowed }: Row): boolean {
  return id !== null || allowed;
}

function verdictOfEvent(row: Row): Verdict {
  if (!isAvailable(row)) return unavailable;
  if (row.id !== null) return { result: 'delivered', message: messageOf(row) };
  if (row.aside) return setAside;
  // A broadcast has fixed its webhooks before it has made all their deliveries.
  if (row.waits && (row.at === null || row.sent)) return waiting;
  return row.sent ? noDelivery : verdictOfChecks(row, row.name ?? '', row.unreadable);
}

/** The first condition that was not met. */
function verdictOfChecks(
  { bound, listed, existed, active, subscribed, passed }: Checks,
  name: string,
  isUnreadable = false,
): Verdict {
  const missing = [
    bound === false &&
      'The app was not bound to the organisation or alliance then. An app gets only what happens while it is bound.',
    listed === false && 'The organisation was not listed then, so its event was sent to nobody.',
    existed === false &&
      (catalogueEntry(name)?.optIn
        ? 'The webhook did not exist then. Read earlier changes with changedSince.'
        : 'The webhook did not exist then. Read earlier events from GET /events.'),
    subscribed === false &&
      `The webhook was not subscribed to ${name}. Add it to the events of the webhook.`,
    passed === false &&
      (isUnreadable
        ? unreadable
        : `The webhook's filter of ${name} did not let the event pass. A replay does not send it either.`),
    active === false &&
      'The webhook was deactivated or suspended. Once it is active again, replay what it missed.',
  ].find((text) => typeof text === 'string');
  return missing === undefined ? unknown : { result: 'not_sent', message: missing };
}

const unavailable: Verdict = {
  result: 'unavailable',
  message:
    'The event is not available to this app. Check the id: the event may not exist, may have expired, may belong to an organisation or alliance to which the app is not bound, or may have happened before the app was bound.',
};
const noSubject: Verdict = {
  result: 'unavailable',
  message:
    'No organisation or alliance with this slug is public now. Check the slug, or explain the event by its id.',
};
const waiting: Verdict = {
  result: 'waiting',
  message: 'The event is being processed. Ask again in a moment.',
};
const setAside: Verdict = {
  result: 'waiting',
  message:
    "An error of the service keeps the event back. The service's operator sends it once the error is fixed; a replay does not.",
};
const unknown: Verdict = {
  result: 'unknown',
  message:
    'The settings at that time are not known: there is no record of them, or they changed at that moment. A replay sends the event if the webhook missed it.',
};
const noDelivery: Verdict = {
  result: 'unknown',
  message:
    "The webhook was to get the event and has no delivery: its settings changed at that moment, the service's operator dropped it after an error, or it has expired. Unless it has expired, a replay sends it.",
};
const unreadable =
  "The webhook's filter could not be evaluated: the data of the event has a value that filters cannot read, such as a number out of range. It counts as an event that does not match.";

function wouldSend(hasNearby: boolean, hasFilter: boolean): string {
  const gets = hasFilter
    ? 'The webhook gets such an event if its filter lets it pass'
    : 'The webhook gets such an event';
  return hasNearby
    ? `${gets}. Explain the nearby events by their ids.`
    : `${gets}, but none is known within a minute of that time. Check the time, or ask whoever publishes the event.`;
}

function messageOf({
  status,
  attemptCount: attempts,
  cancelled_by: by,
  allowed,
}: DeliveryColumns & Pick<Row, 'allowed'>): string {
  if (status === 'pending' && attempts === 0)
    return "The delivery waits for its first attempt. If that takes long, the receiver is slow and earlier deliveries go first, its chat platform asked to wait, or the service cannot decrypt the webhook's secret, headers or URL at the moment.";
  if (status === 'pending')
    return 'The delivery is pending. Its attempts show the responses so far.';
  if (status === 'succeeded') return 'The receiver accepted the event with a 2xx status.';
  const [reason, advice] = endOf({ status, attempts, by });
  return `${reason} ${allowed ? advice : 'The app can no longer get the event, so it is not sent again.'}`;
}

type Ended = { status: DeliveryRow['status']; attempts: number; by: string | null };

/** Why a delivery ended without a success, and what to do about it. */
function endOf({ status, attempts, by }: Ended): [reason: string, advice: string] {
  if (status === 'failed' && attempts === 0)
    return [
      "The delivery failed without an attempt: for a day, the service could not decrypt the webhook's secret, headers or URL, or its chat platform asked to wait.",
      'Redeliver it once that is over.',
    ];
  if (status === 'failed')
    return ['All attempts failed.', 'Fix the receiver, then redeliver the delivery.'];
  if (by === 'deactivation')
    return [
      'The delivery was cancelled because the webhook was deactivated.',
      'Activate the webhook, then replay what it missed.',
    ];
  if (by === 'suspension')
    return [
      'The delivery was cancelled because the operator suspended the webhook or its app.',
      'When it is restored, replay what it missed.',
    ];
  return [
    'The delivery was cancelled because the app could not get the event any more.',
    'It can again, so redeliver the delivery.',
  ];
}

function checksOf({ bound, listed, existed, active, subscribed, passed = null }: Checks): Checks {
  return { bound, listed, existed, active, subscribed, passed };
}

/** The checks that apply to the event and of which there is no record. */
function unknownChecks(checks: Checks, name: string): Explanation['unknown'] {
  const applying = {
    bound: catalogueEntry(name)?.audience !== 'global',
    listed: name === 'org.created' || name === 'org.updated',
    existed: true,
    active: checks.existed !== false,
    subscribed: checks.existed !== false,
  };
  const names = Object.keys(applying) as (keyof typeof applying)[];
  return names.filter((check) => applying[check] && checks[check] === null);
}

const noChecks: Checks = {
  bound: null,
  listed: null,
  existed: null,
  active: null,
  subscribed: null,
  passed: null,
};

function toEvent({ known_id: id, name, happened_at: happenedAt }: Row): Explanation['event'] {
  return id === null ? null : { id, name, createdAt: happenedAt.toISOString() };
}
