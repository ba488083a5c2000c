/**
 * Lets a history take place while the real worker delivers to a real receiver. Nobody knows between which two steps an
 * event was fanned out or sent, so the model says what may arrive, because it was allowed at some moment, and what
 * must, because it was allowed throughout.
 */
import { isChat } from './naming.ts';
import { sql } from '../../src/database/database.ts';
import { eventually } from '../support/eventually.ts';
import type { Receiver } from '../support/receiver.ts';
import type { Command, Opening } from './commands.ts';
import { learn } from './compare.ts';
import { mayHave, passes } from './may-have.ts';
import { apply } from './model.ts';
import type { Snapshot } from './observation.ts';
import { openState } from './open-state.ts';
import { perform } from './perform.ts';
import { seed } from './seed.ts';
import type { Stage } from './stage.ts';
import { Disagreement, type State } from './state.ts';

/** By event and webhook id: whether the webhook could get it at some moment, and at every one. */
type Claims = Map<string, { ever: boolean; always: boolean }>;

/** Returns how many attempts arrived. Throws `Disagreement`. */
export async function runBesideWorker(
  stage: Stage,
  receiver: Receiver,
  { opening, steps }: { opening: Opening; steps: Command[] },
): Promise<number> {
  await stage.clear();
  receiver.received.length = 0;
  // A chat channel gets messages, and here what arrives is compared with the events.
  const webhooks = opening.webhooks.filter((_, slot) => !isChat(slot));
  const state = openState({ ...opening, webhooks }, 0);
  await seed(stage, state);
  await sql`update webhooks set url = ${new URL('/', receiver.url).href} || id`.execute(
    stage.database,
  );
  const claims: Claims = new Map();
  for (const command of steps) {
    // Before and after: what is fanned out during a change may be so by either.
    note(state, claims);
    apply(state, command, {
      observation: await perform(stage, command, state),
      snapshot: null,
      alone: true,
    });
    note(state, claims);
  }
  const snapshot = await atRest(stage);
  learn(state, snapshot);
  compareReceived(state, claims, snapshot, receiver);
  return receiver.received.length;
}

function note(state: State, claims: Claims): void {
  for (const [index, event] of state.events.entries()) {
    const able = new Set(
      [...state.webhooks.values()]
        .filter(({ active, events }) => active && (events === null || events.includes(event.name)))
        .filter((webhook) => passes(webhook, event) !== false)
        .filter(({ app }) => mayHave(state, event, app))
        .map(({ id }) => `${index}/${id}`),
    );
    for (const key of able)
      if (!claims.has(key)) claims.set(key, { ever: true, always: event.at === state.tick });
    for (const [key, claim] of claims)
      if (key.startsWith(`${index}/`) && !able.has(key)) claim.always = false;
  }
}

/** Nothing waits any more, neither for fan-out nor for an attempt. */
async function atRest(stage: Stage): Promise<Snapshot> {
  return eventually(async () => {
    const snapshot = await stage.snapshot();
    const waits =
      snapshot.events.some(({ position }) => position === null) ||
      snapshot.deliveries.some(({ status }) => status === 'pending');
    return waits ? null : snapshot;
  });
}

function compareReceived(
  state: State,
  claims: Claims,
  snapshot: Snapshot,
  { received }: Receiver,
): void {
  const deliveries = new Map(snapshot.deliveries.map((row) => [row.id, row]));
  const succeeded = new Set<string>();
  for (const { path, body, headers } of received) {
    const delivery = deliveries.get(headers['webhook-id'] ?? '');
    if (!delivery) throw new Disagreement(`${path} got what nobody sent`);
    const index = state.events.findIndex(({ stored }) => stored?.id === delivery.eventId);
    const event = state.events[index];
    const key = `${index}/${delivery.webhookId}`;
    if (path !== `/${delivery.webhookId}`) throw new Disagreement(`${path} got ${key}`);
    if (!claims.get(key)?.ever) throw new Disagreement(`leak: ${event?.name} ${key}`);
    const expected = `{"id":"${delivery.id}","event":"${event?.name}","createdAt":"${event?.stored?.createdAt}","data":${event?.stored?.data}}`;
    if (body.toString() !== expected)
      throw new Disagreement(`${body.toString()} is not ${expected}`);
    if (delivery.status === 'succeeded') succeeded.add(key);
  }
  for (const [key, { always }] of claims)
    if (always && !succeeded.has(key)) throw new Disagreement(`missing: ${key}`);
  const pairs = snapshot.deliveries.map(({ eventId, webhookId }) => `${eventId}/${webhookId}`);
  if (new Set(pairs).size !== pairs.length)
    throw new Disagreement('an event has two deliveries for one webhook');
  const attempts = snapshot.deliveries.reduce((sum, { count }) => sum + count, 0);
  if (attempts !== received.length)
    throw new Disagreement(`${attempts} attempts are counted and ${received.length} arrived`);
}
