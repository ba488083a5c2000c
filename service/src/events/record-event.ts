/**
 * Records events in the caller's transaction, so that an event exists exactly if the change that caused it does. Sends
 * nothing and notifies nobody: transactions with a notification commit one after the other. Workers look into the
 * outbox. Next: `webhooks/queue/fan-out.ts`.
 */
import type { Static } from 'typebox';
import { v7 as uuidv7 } from 'uuid';
import { createValidator, type Validator } from '../contract/validate.ts';
import { sql, type Transaction } from '../database/database.ts';
import { traceEvent } from '../tracing.ts';
import { catalogue, type EventName } from './catalogue.ts';

type EventSubject = { orgId?: string | null; allianceId?: string | null };
export type NewEvent<Name extends EventName = EventName> = {
  name: Name;
  data: Static<(typeof catalogue)[Name]['data']>;
  /** The event's id, if it is known before; otherwise a new UUIDv7. */
  id?: string;
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

/** Records several events in one statement. The ids are in the order of `events`. */
export async function recordEvents(tx: Transaction, events: NewEvent[]): Promise<string[]> {
  if (events.length === 0) return [];
  const rows = events.map((event) => {
    requireValid(event);
    const { audience } = catalogue[event.name];
    // Passes `data` as text inside JSON: its bytes are made once, here, and never parsed again.
    const id = event.id ?? uuidv7();
    return {
      id,
      name: event.name,
      audience,
      org_id: event.orgId ?? null,
      alliance_id: event.allianceId ?? null,
      data: JSON.stringify(event.data),
      traceparent: traceEvent({ id, name: event.name }),
    };
  });
  await sql`
    insert into outbox (id, name, audience, org_id, alliance_id, data, traceparent)
    select id, name, audience, org_id, alliance_id, data, traceparent
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
      as e(id uuid, name text, audience text, org_id uuid, alliance_id uuid, data text, traceparent text)
  `.execute(tx);
  return rows.map((row) => row.id);
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
