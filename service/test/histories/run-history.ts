/**
 * Lets a history take place and holds every step against the model. Where two things happen at once either order
 * is right, so the runner keeps every state that the model may be in, and fails when none is left.
 */
import { openState } from './open-state.ts';
import { compare, learn } from './compare.ts';
import { describe, type Command, type History, type Step } from './commands.ts';
import { apply } from './model.ts';
import type { Observation, Snapshot } from './observation.ts';
import { seed } from './seed.ts';
import { perform } from './perform.ts';
import { Disagreement, type State } from './state.ts';
import type { Stage } from './stage.ts';

/** Longer than any wait and any lease. */
const longMs = 8 * 86_400_000;
/** Before the real time, by which events are fanned out: so a replay after healing takes all of them. */
const start = Date.parse('2020-11-20T12:00:00Z');

/** Throws an error with the whole history if the service and the model differ. */
export async function runHistory(stage: Stage, { opening, steps }: History): Promise<void> {
  const log: Entry[] = [];
  await stage.clear();
  await stage.setClock(start);
  let states = [openState(opening, start)];
  try {
    await seed(stage, states[0] as State);
    for (const step of steps) states = await take(stage, states, step, log);
    stage.crash();
    for (const step of ending) states = await take(stage, states, step, log);
    for (let turn = 0; turn < turnsMax && hasWork(states); turn += 1)
      for (const step of drain) states = await take(stage, states, step, log);
    if (hasWork(states)) throw new Disagreement('deliveries are still pending at the end');
    const apps = [...(states[0]?.apps.keys() ?? [])];
    for (const app of apps)
      states = await take(stage, states, { do: 'pull', app, limit: 100, event: null }, log);
    for (const webhook of states[0]?.webhooks.keys() ?? [])
      states = await take(stage, states, { do: 'explain', webhook }, log);
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${log.map(tell).join('\n')}`, { cause: error });
  }
}

/** Describes the history for the reader of a failure. */
type Entry = { step: Step; observations: Observation[] };
type Done = { command: Command; observation: Observation };

/** Lets leases of crashed workers expire, and then sends everything that may be sent. */
const ending: Command[] = [
  { do: 'fan-out', worker: 0, room: 1_000 },
  { do: 'pass', ms: longMs },
  { do: 'recover-leases' },
];
const drain: Command[] = [
  { do: 'pass', ms: longMs },
  { do: 'claim', worker: 0, room: 100 },
  {
    do: 'record',
    worker: 0,
    answers: Array.from({ length: 100 }, () => ({ status: 200, final: false })),
  },
  { do: 'update-health' },
  { do: 'replay-healed' },
];
const turnsMax = 100;

const hasWork = (states: State[]) =>
  states.some(({ deliveries }) =>
    [...deliveries.values()].some(({ status }) => status === 'pending'),
  );

/** After these the tables are held against the model; what others did shows by then. */
const loud = new Set<Command['do']>([
  'fan-out',
  'claim',
  'record',
  'recover-leases',
  'update-health',
  'activate',
  'suspend-app',
  'suspend-webhook',
  'set-healing',
  'delete-webhook',
  'redeliver',
  'recover',
  'replay',
  'replay-healed',
]);

async function take(stage: Stage, states: State[], step: Step, log: Entry[]): Promise<State[]> {
  const commands: Command[] = step.do === 'at-once' ? step.both : [step];
  const [now] = states;
  if (!now) throw new Disagreement('no state is left');
  const entry: Entry = { step, observations: [] };
  log.push(entry);
  const observations = await Promise.all(commands.map((command) => perform(stage, command, now)));
  entry.observations = observations;
  if (observations.every(({ skipped }) => skipped)) return states;
  const done = commands.map((command, index) => ({
    command,
    observation: observations[index] as Observation,
  }));
  const isLoud = step.do === 'at-once' || (loud.has(step.do) && !observations.some(isNothing));
  const snapshot = isLoud ? await stage.snapshot() : null;
  return follow(states, done, snapshot);
}

/** Every state that the model may be in now. Throws `Disagreement` where there is none. */
function follow(states: State[], done: Done[], snapshot: Snapshot | null): State[] {
  const orders = done.length === 1 ? [done] : [done, done.toReversed()];
  const next: State[] = [];
  const reasons = new Set<string>();
  for (const before of states) {
    for (const order of orders) {
      const state = states.length * orders.length === 1 ? before : structuredClone(before);
      try {
        for (const { command, observation } of order) {
          if (snapshot) learn(state, snapshot);
          apply(state, command, { observation, snapshot, alone: order.length === 1 });
          if (snapshot) learn(state, snapshot);
        }
        if (snapshot && order.length > 1) leaveToClaim(state, snapshot);
        if (snapshot) compare(state, snapshot);
        next.push(state);
      } catch (error) {
        if (!(error instanceof Disagreement)) throw error;
        reasons.add(error.message);
      }
    }
  }
  if (next.length === 0) throw new Disagreement([...reasons].join('\n or: '));
  return distinct(next);
}

/**
 * A fan-out that meets a webhook's deactivation or deletion may leave it a delivery that waits: nothing is sent, because
 * the next claim cancels it.
 */
function leaveToClaim(state: State, snapshot: Snapshot): void {
  const waiting = new Set(
    snapshot.deliveries.filter(({ status }) => status === 'pending').map(({ id }) => id),
  );
  for (const delivery of state.deliveries.values()) {
    const ended = ['deactivation', 'deletion', 'suspension'].includes(delivery.cancelledBy ?? '');
    if (!ended || delivery.count > 0 || !waiting.has(delivery.id ?? '')) continue;
    delivery.status = 'pending';
    delivery.cancelledBy = null;
  }
}

/** A claim or fan-out that found nothing, and a record of nothing. */
function isNothing({ claim, fannedOut, recorded }: Observation): boolean {
  return (
    (claim?.handed.length === 0 && claim.cancelled === 0) ||
    fannedOut?.events === 0 ||
    recorded?.length === 0
  );
}

function distinct(states: State[]): State[] {
  if (states.length === 1) return states;
  const seen = new Set<string>();
  return states.filter((state) => {
    const text = JSON.stringify(state, (_, value: unknown) =>
      value instanceof Map || value instanceof Set ? [...value] : value,
    );
    return !seen.has(text) && seen.add(text);
  });
}

function tell({ step, observations }: Entry, index: number): string {
  return `${String(index + 1).padStart(4)}. ${describe(step)} → ${observations.map(outcome).join('  |  ') || '…'}`;
}

function outcome({
  skipped,
  refused,
  claim,
  fannedOut,
  recorded,
  page,
  count,
}: Observation): string {
  if (skipped) return 'nothing to do it with';
  if (refused) return 'refused';
  if (claim) return `${claim.handed.length} handed out, ${claim.cancelled} cancelled`;
  if (fannedOut) return `${fannedOut.events} events, ${fannedOut.handed.length} handed out`;
  if (recorded)
    return `recorded ${recorded.map(({ verdict }) => verdict.kind).join(', ') || 'nothing'}`;
  if (page) return `${page.ids.length} events${page.hasMore ? ' and more' : ''}`;
  return count === undefined ? 'done' : `${count}`;
}
