/** Does what a command says, through the functions that the API, the command line and the worker call. */
import { randomBytes, randomUUID } from 'node:crypto';
import { createApp, deleteApp, readApp } from '../../src/access/apps.ts';
import { bindApp, unbindApp } from '../../src/access/bindings.ts';
import { acceptInvitation, createInvitation } from '../../src/access/invitations.ts';
import { addManager, removeManager, type Subject } from '../../src/access/managers.ts';
import { listMembers, removeMember, setMember, transferApp } from '../../src/access/members.ts';
import { lockWithRole } from '../../src/access/require-role.ts';
import type { AppRole } from '../../src/contract/app-roles.ts';
import { sql, violatedConstraint, type Transaction } from '../../src/database/database.ts';
import { BadLinesError } from '../../src/directory/import.ts';
import { publishEvent } from '../../src/directory/publish-in-groups.ts';
import { ServiceError } from '../../src/errors.ts';
import { createCursors } from '../../src/events/cursors.ts';
import { disableMaintenance, enableMaintenance } from '../../src/system/maintenance.ts';
import { pullEvents } from '../../src/events/pull-events.ts';
import { readDelivery } from '../../src/webhooks/management/deliveries.ts';
import { explainEvent } from '../../src/webhooks/management/explain.ts';
import { recover } from '../../src/webhooks/replay/replay.ts';
import { redeliver } from '../../src/webhooks/replay/redeliver.ts';
import {
  restoreWebhooks,
  suspendWebhooks,
} from '../../src/webhooks/management/suspend-webhooks.ts';
import {
  updateWebhook,
  type WebhookChanges,
} from '../../src/webhooks/management/update-webhook.ts';
import { listHealed, replay, replayHealed } from '../../src/webhooks/replay/replay.ts';
import { recoverLeases } from '../../src/webhooks/queue/record/recover-leases.ts';
import { updateWebhookHealth } from '../../src/webhooks/queue/health/update-webhook-health.ts';
import {
  createWebhook,
  deleteWebhook,
  requireWebhook,
} from '../../src/webhooks/management/webhooks.ts';
import type { Command, Place } from './commands.ts';
import { subjectAt } from './model-directory.ts';
import { backoff, deactivateAfter } from './model-queue.ts';
import { addressOf, filtersOf, headersOf, innerOf, isChat, personOf, slugOf } from './naming.ts';
import type { Observation } from './observation.ts';
import { claimSome, fanOutSome, recordSome } from './perform-queue.ts';
import { putAlliance, putOrg, publicUrl } from './perform-directory.ts';
import type { Stage } from './stage.ts';
import type { State } from './state.ts';
import { testActor } from '../support/actor.ts';

type Verb = Command['do'];
type Found = Partial<Observation> | void;
/** Returns null where what the command needs is not there. */
type Act<C> = (stage: Stage, command: C, state: State) => (() => Promise<Found>) | null;

const cursors = createCursors([randomBytes(32)]);
export const guard = {
  allowedNetworks: [],
  allowHttp: false,
  chatOrigins: { slack: [new URL(addressOf(4, 0)).origin] },
};

/** `state` is the state before the command. A rejection is a response; an exception is a bug. */
export async function perform(stage: Stage, command: Command, state: State): Promise<Observation> {
  const act = (acts[command.do] as Act<Command>)(stage, command, state);
  if (!act) return { refused: false, skipped: true };
  try {
    return { refused: false, ...(await act()) };
  } catch (error) {
    const known =
      error instanceof ServiceError ||
      error instanceof BadLinesError ||
      violatedConstraint(error)?.endsWith('_fkey');
    if (!known) throw error;
    const { chosen } = chosenOf(command, state) ?? {};
    return { refused: true, ...(chosen === undefined ? {} : { chosen }) };
  }
}

const acts: { [V in Verb]: Act<Extract<Command, { do: V }>> } = {
  'set-org': (stage, command, state) => inTransaction(stage, (tx) => putOrg(tx, command, state)),
  'set-alliance': (stage, command, state) =>
    inTransaction(stage, (tx) => putAlliance(tx, command, state)),
  'delete-org': (stage, { org }, state) =>
    withId(state.orgs.get(org), ({ id }) =>
      inTransaction(stage, (tx) => sql`delete from orgs where id = ${id}`.execute(tx)),
    ),
  'delete-alliance': (stage, { alliance }, state) =>
    withId(state.alliances.get(alliance), ({ id }) =>
      inTransaction(stage, (tx) => sql`delete from alliances where id = ${id}`.execute(tx)),
    ),
  'add-manager': (stage, { of, person }, state) =>
    withSubject(state, of, (subject) =>
      inTransaction(stage, (tx) =>
        addManager(tx, testActor, subject, ` ${personOf(person).toUpperCase()} `),
      ),
    ),
  'remove-manager': (stage, { of, person }, state) =>
    withSubject(state, of, (subject) =>
      inTransaction(stage, (tx) => removeManager(tx, testActor, subject, personOf(person))),
    ),
  'create-app': (stage, { app, owner }, state) =>
    state.apps.has(app)
      ? null
      : inTransaction(stage, async (tx) => ({
          id: await createApp(tx, testActor, { name: `App ${app}`, owner: personOf(owner) }),
        })),
  'delete-app': (stage, { app }, state) =>
    withId(state.apps.get(app), ({ id }) =>
      // Of two concurrent deletions, the second finds nothing, which is fine.
      inTransaction(stage, (tx) => deleteApp(tx, testActor, id).catch(unlessNotFound)),
    ),
  'set-member': (stage, { app, person, role }, state) =>
    withId(state.apps.get(app), ({ id: appId }) =>
      inTransaction(stage, (tx) =>
        setMember(tx, testActor, { appId, email: personOf(person), role }),
      ),
    ),
  join: (stage, { app, person, role }, state) =>
    withId(state.apps.get(app), ({ id }) =>
      inTransaction(stage, (tx) => join(tx, id, personOf(person), role)),
    ),
  'remove-member': (stage, { app, person }, state) =>
    withId(state.apps.get(app), ({ id: appId }) =>
      inTransaction(stage, (tx) => removeMember(tx, testActor, { appId, email: personOf(person) })),
    ),
  transfer: (stage, { app, from, person }, state) =>
    withId(state.apps.get(app), ({ id: appId }) =>
      inTransaction(stage, async (tx) => {
        await lockWithRole(tx, personOf(from), appId, 'owner');
        const members = await listMembers(tx, appId);
        const memberId = members.find(({ email }) => email === personOf(person))?.id ?? '';
        await transferApp(tx, testActor, { appId, from: personOf(from), memberId });
      }),
    ),
  bind: (stage, { app, to, by }, state) =>
    withId(state.apps.get(app), ({ id }) =>
      withSubject(state, to, (subject) =>
        inTransaction(stage, (tx) =>
          bindApp(tx, testActor, id, subject, by === null ? null : personOf(by)),
        ),
      ),
    ),
  unbind: (stage, { app }, state) =>
    withId(state.apps.get(app), ({ id }) =>
      inTransaction(stage, (tx) => unbindApp(tx, testActor, id)),
    ),
  'create-webhook': (stage, { webhook, app, events }, state) =>
    state.webhooks.has(webhook)
      ? null
      : withId(state.apps.get(app), ({ id }) =>
          inTransaction(stage, async (tx) => {
            const [url, headers] = [addressOf(webhook, 0), headersOf(webhook)];
            const format = isChat(webhook) ? ('slack' as const) : ('json' as const);
            const input = { url, format, events, filters: filtersOf(events), headers };
            return {
              id: (await createWebhook(tx, testActor, id, input, guard, stage)).id,
            };
          }),
        ),
  subscribe: (stage, { webhook, events }, state) =>
    change(stage, state, webhook, () => ({ events, filters: filtersOf(events) })),
  'move-webhook': (stage, { webhook }, state) =>
    change(stage, state, webhook, (moves) => ({ url: addressOf(webhook, moves + 1) })),
  activate: (stage, { webhook, active }, state) =>
    change(stage, state, webhook, () => ({ active })),
  'suspend-app': (stage, { app, on }, state) =>
    withId(state.apps.get(app), ({ id }) => turn(stage, { kind: 'app', id }, on)),
  'suspend-webhook': (stage, { webhook, on }, state) =>
    onWebhook(state, webhook, ({ id }) => turn(stage, { kind: 'webhook', id }, on)),
  'set-healing': (stage, { webhook, selfHealing, replayAfterHealing }, state) =>
    change(stage, state, webhook, () => ({ selfHealing, replayAfterHealing })),
  'delete-webhook': (stage, { webhook }, state) =>
    onWebhook(state, webhook, ({ id, appId }) =>
      inTransaction(stage, (tx) => deleteWebhook(tx, testActor, appId, id)),
    ),
  announce: (stage, { what }, state) =>
    publish(stage, state, what, what.kind === 'org' ? 'org.created' : 'alliance.created', null),
  maintenance:
    ({ database }, { on }) =>
    async () => {
      if (on) await enableMaintenance(database, testActor, { message: 'soon', expectedEnd: null });
      else await disableMaintenance(database, testActor);
    },
  publish: (stage, { name, of, text, amount }, state) =>
    publish(
      stage,
      state,
      { kind: name.startsWith('resource') ? 'alliance' : 'org', slot: of },
      name,
      innerOf(name, text, amount),
    ),
  'fan-out':
    (stage, { worker, room }) =>
    () =>
      fanOutSome(stage, worker, room),
  claim:
    (stage, { worker, room }) =>
    () =>
      claimSome(stage, worker, room),
  record:
    (stage, { worker, answers }) =>
    () =>
      recordSome(stage, worker, answers),
  'recover-leases':
    ({ database }) =>
    async () => {
      await recoverLeases(database, { backoff });
    },
  'update-health':
    ({ database }) =>
    async () => {
      await updateWebhookHealth(database, deactivateAfter);
    },
  'replay-healed':
    ({ database }) =>
    async () => {
      const reasons: (string | null)[] = [];
      for (const webhookId of await listHealed(database))
        reasons.push(await replayHealed(database, webhookId));
      return { refused: reasons.some((reason) => reason !== null) };
    },
  pass:
    (stage, { ms }, state) =>
    () =>
      stage.setClock(state.now + ms),
  redeliver: (stage, command, state) =>
    onChosen(command, state, ({ appId, webhookId, deliveryId, chosen }) =>
      inTransaction(stage, async (tx) => {
        await redeliver(tx, appId, webhookId, deliveryId);
        return { chosen };
      }),
    ),
  recover: (stage, { webhook }, state) =>
    onWebhook(state, webhook, ({ id: webhookId, appId }) =>
      inTransaction(stage, async (tx) => ({
        count: await recover(tx, testActor, { appId, webhookId }, new Date('2026-01-01'), []),
      })),
    ),
  replay: (stage, { webhook }, state) =>
    onWebhook(state, webhook, ({ id: webhookId, appId }) =>
      inTransaction(stage, async (tx) => {
        const range = { since: new Date('2026-01-01'), until: new Date(Date.now() + 86_400_000) };
        // Deliveries end by the real clock here, as events are fanned out.
        const { failed, cancelled, missed } = await replay(
          tx,
          testActor,
          { appId, webhookId },
          range,
          [],
        );
        return { count: failed + cancelled + missed };
      }),
    ),
  'read-delivery': (stage, command, state) =>
    onChosen(command, state, ({ appId, webhookId, deliveryId, chosen }) => async () => {
      await requireWebhook(stage.database, appId, webhookId);
      const { body } = await readDelivery(stage.database, appId, webhookId, deliveryId);
      return { chosen, body };
    }),
  explain: ({ database }, { webhook }, state) =>
    onWebhook(state, webhook, ({ id: webhookId, appId }) => async () => {
      const explain = (id: string) => explainEvent(database, { appId, webhookId }, id);
      const ids = state.events.flatMap(({ stored }) => stored?.id ?? []);
      const events = await Promise.all(ids.map(async (id) => [id, await explain(id)] as const));
      return { explained: { events: new Map(events), missing: await explain(randomUUID()) } };
    }),
  pull: ({ database }, { app, limit, event }, state) =>
    withId(state.apps.get(app), ({ id, key }) => async () => {
      const after = state.readers.get(key)?.cursor ?? null;
      const { events, nextCursor, hasMore } = await pullEvents(database, cursors, id, {
        after,
        limit,
        event,
        webhookId: null,
      });
      const ids = events.map((one) => one.id);
      return { page: { ids, data: events.map(({ data }) => data), nextCursor, hasMore } };
    }),
};

/** Accepts an invitation by one of the owners. */
async function join(tx: Transaction, appId: string, email: string, role: AppRole): Promise<void> {
  const { owners } = await readApp(tx, appId);
  const by = owners[0] ?? '';
  const invitation = { appId, by, email, role, hash: randomBytes(32) };
  const { id } = await createInvitation(tx, testActor, invitation);
  await acceptInvitation(tx, testActor, { id, email });
}

function unlessNotFound(error: unknown): void {
  if (!(error instanceof ServiceError && error.code === 'not_found')) throw error;
}

function inTransaction(stage: Stage, work: (tx: Transaction) => Promise<unknown>) {
  return async (): Promise<Found> => {
    const result = await stage.database.transaction().execute(work);
    return typeof result === 'object' ? (result as Found) : undefined;
  };
}

function withId<T extends { id: string }, R>(found: T | undefined, act: (found: T) => R): R | null {
  return found ? act(found) : null;
}

function withSubject<R>(state: State, place: Place, act: (subject: Subject) => R): R | null {
  const kind = place.kind === 'org' ? 'organization' : 'alliance';
  return withId(subjectAt(state, place), ({ id }) => act({ kind, id }));
}

function turn(stage: Stage, target: Parameters<typeof suspendWebhooks>[2], on: boolean) {
  return inTransaction(stage, async (tx) => {
    if (on) await suspendWebhooks(tx, testActor, target, 'Reason');
    else await restoreWebhooks(tx, testActor, target, false);
  });
}

function onWebhook<R>(
  state: State,
  slot: number,
  act: (webhook: { id: string; appId: string; moves: number }) => R,
): R | null {
  return withId(state.webhooks.get(slot), ({ id, app, moves }) => {
    const owner = [...state.apps.values()].find(({ key }) => key === app);
    return act({ id, moves, appId: owner?.id ?? '' });
  });
}

function change(
  stage: Stage,
  state: State,
  slot: number,
  changes: (moves: number) => WebhookChanges,
) {
  return onWebhook(state, slot, ({ id, appId, moves }) =>
    inTransaction(stage, (tx) =>
      updateWebhook(tx, testActor, appId, id, changes(moves), guard, stage),
    ),
  );
}

function publish(stage: Stage, state: State, { kind, slot }: Place, name: string, data: unknown) {
  const slug = slugOf(kind, slot);
  return withId(subjectAt(state, { kind, slot }), () =>
    inTransaction(stage, (tx) =>
      publishEvent(tx, {
        name,
        data,
        publicUrl,
        org: kind === 'org' ? slug : null,
        alliance: kind === 'alliance' ? slug : null,
      }),
    ),
  );
}

type Chosen = { chosen: string; appId: string; webhookId: string; deliveryId: string };

/** The delivery that `nth` means among those that the webhook has. */
function chosenOf(command: Command, state: State): Chosen | null {
  if (command.do !== 'redeliver' && command.do !== 'read-delivery') return null;
  return onWebhook(state, command.webhook, ({ id, appId }) => {
    const key = state.webhooks.get(command.webhook)?.key;
    const all = [...state.deliveries].filter(([, { webhook }]) => webhook === key);
    const [chosen, delivery] = all[command.nth % all.length] ?? [];
    return chosen === undefined
      ? null
      : { chosen, appId, webhookId: id, deliveryId: delivery?.id ?? '' };
  });
}

function onChosen(
  command: Command,
  state: State,
  act: (chosen: Chosen) => () => Promise<Found>,
): (() => Promise<Found>) | null {
  const chosen = chosenOf(command, state);
  return chosen && act(chosen);
}
