/**
 * Records events in the caller's transaction, so that an event exists exactly if the change that caused it does. Sends
 * nothing and notifies nobody: transactions with a notification commit one after the other. Workers look into the
 * outbox. Next: `webhooks/queue/fan-out/fan-out.ts`.
 */
import type { Static } from 'typebox';
import { createValidator, type Validator } from '../contract/validate.ts';
import { sql, type Transaction } from '../database/database.ts';
import type { EventSpan } from '../runtime/tracing-types.ts';
import { traceEvent } from '../runtime/tracing.ts';
import { catalogue, type EventName } from './catalogue.ts';

type EventSubject = { orgId?: string | null; allianceId?: string | null };
export type NewEvent<Name extends EventName = EventName> = {
  name: Name;
  data: Static<(typeof catalogue)[Name]['data']>;
} & EventSubject;

const validators = new Map<EventName, Validator<unknown>>();

/**
 * Records one event and returns its id. Throws if `data` does not fit the catalogue, which is our bug and not the
 * caller's.
 */
export async function recordEvent(tx: Transaction, event: NewEvent): Promise<string> {
  const [id] = await recordEvents(tx, [event]);
  if (id === undefined) throw new Error('the event was not recorded');
  return id;
}

/** Records several events in one statement. Returns their ids, in the order of `events`. */
export async function recordEvents(tx: Transaction, events: NewEvent[]): Promise<string[]> {
  if (events.length === 0) return [];
  const spans: EventSpan[] = [];
  const given = events.map((event) => {
    requireValid(event);
    const { audience } = catalogue[event.name];
    const span = traceEvent(event.name);
    spans.push(span);
    return {
      name: event.name,
      audience,
      org_id: event.orgId ?? null,
      alliance_id: event.allianceId ?? null,
      // Text inside JSON: its bytes are made once, here, and never parsed again.
      data: JSON.stringify(event.data),
      traceparent: span.traceparent,
    };
  });
  const { rows } = await sql<{ id: string }>`
    with clock as materialized (select clock_timestamp() as now)
    insert into outbox (id, name, audience, org_id, alliance_id, data, traceparent)
    select uuid_v7(now + place * interval '1 microsecond'), name, audience, org_id, alliance_id, data, traceparent
    from clock, rows from (jsonb_to_recordset(${JSON.stringify(given)}::jsonb)
      as (name text, audience text, org_id uuid, alliance_id uuid, data text, traceparent text)) with ordinality
      as e(name, audience, org_id, alliance_id, data, traceparent, place)
    order by place
    returning id
  `.execute(tx);
  return rows.map(({ id }, place) => {
    spans[place]?.end(id);
    return id;
  });
}

function requireValid(event: NewEvent): void {
  let validate = validators.get(event.name);
  if (!validate)
    validators.set(event.name, (validate = createValidator(catalogue[event.name].data)));
  const result = validate(event.data, 'data');
  if (!result.ok) {
    const [issue] = result.issues;
    throw new Error(
      `the data of ${event.name} does not fit the catalogue: ${issue?.path} ${issue?.message}`,
    );
  }
}
