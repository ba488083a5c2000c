/** The commands of a history. Objects have small numbers, so that a shrunk history is readable. */
import type { AppRole } from '../../src/contract/app-roles.ts';

export type Kind = 'org' | 'alliance';
/** An organisation or alliance by its number. */
export type Place = { kind: Kind; slot: number };
export type BoundName =
  | 'application.created'
  | 'event.created'
  | 'resource.request.created'
  | 'resource.offer.created';
export type Name =
  | BoundName
  | 'org.created'
  | 'alliance.created'
  | 'webhook.probe'
  | 'system.maintenance.enabled'
  | 'system.maintenance.disabled';
/** The response of a receiver; `final` is the response to the last attempt of a cycle. */
export type Answer = { status: number | 'timeout'; final: boolean };

export type Command =
  | { do: 'set-org'; org: number; listed?: boolean; alliance?: number | null; rename?: boolean }
  | { do: 'delete-org'; org: number }
  | { do: 'set-alliance'; alliance: number; disbanded?: boolean; rename?: boolean }
  | { do: 'delete-alliance'; alliance: number }
  | { do: 'add-manager' | 'remove-manager'; of: Place; person: number }
  | { do: 'create-app'; app: number; owner: number }
  | { do: 'delete-app' | 'unbind'; app: number }
  | { do: 'set-member' | 'join'; app: number; person: number; role: AppRole }
  | { do: 'remove-member'; app: number; person: number }
  | { do: 'transfer'; app: number; from: number; person: number }
  /** `by` null: by any owner who may. */
  | { do: 'bind'; app: number; to: Place; by: number | null }
  | { do: 'create-webhook'; webhook: number; app: number; events: Name[] | null }
  | { do: 'subscribe'; webhook: number; events: Name[] | null }
  | { do: 'move-webhook' | 'delete-webhook' | 'recover' | 'replay'; webhook: number }
  | { do: 'activate'; webhook: number; active: boolean }
  /** By the operator. */
  | { do: 'suspend-app'; app: number; on: boolean }
  | { do: 'suspend-webhook'; webhook: number; on: boolean }
  | { do: 'set-healing'; webhook: number; selfHealing?: boolean; replayAfterHealing?: boolean }
  | { do: 'announce'; what: Place }
  | { do: 'maintenance'; on: boolean }
  | { do: 'publish'; name: BoundName; of: number; text: string; amount: number }
  | { do: 'recover-leases' | 'update-health' | 'replay-healed' }
  | { do: 'fan-out' | 'claim'; worker: number; room: number }
  | { do: 'record'; worker: number; answers: Answer[] }
  | { do: 'pass'; ms: number }
  | { do: 'redeliver' | 'read-delivery'; webhook: number; nth: number }
  /** Every event. */
  | { do: 'explain'; webhook: number }
  | { do: 'pull'; app: number; limit: number; event: Name | null };

/** Steps in sequence; a pair runs concurrently. */
export type Step = Command | { do: 'at-once'; both: [Command, Command] };

/** The initial state of a history. */
export type Opening = {
  alliances: number;
  orgs: { listed: boolean; alliance: number | null }[];
  apps: { owner: number; to: Place | null }[];
  webhooks: { app: number; events: Name[] | null; replayAfterHealing: boolean }[];
};
export type History = { opening: Opening; steps: Step[] };

/** Which kind of subject each bound event has. */
export const subjectOf: Record<BoundName, Kind> = {
  'application.created': 'org',
  'event.created': 'org',
  'resource.request.created': 'alliance',
  'resource.offer.created': 'alliance',
};

/** The opening as commands, in an order in which all of them can be done. */
export function openingCommands({ alliances, orgs, apps, webhooks }: Opening): Command[] {
  return [
    ...Array.from({ length: alliances }, (_, alliance): Command => ({
      do: 'set-alliance',
      alliance,
    })),
    ...orgs.map(({ listed, alliance }, org): Command => ({
      do: 'set-org',
      org,
      listed,
      alliance: alliance === null ? null : alliance % alliances,
    })),
    ...apps.flatMap(({ owner, to }, app): Command[] => [
      { do: 'create-app', app, owner },
      ...(to === null
        ? []
        : [
            { do: 'add-manager' as const, of: to, person: owner },
            { do: 'bind' as const, app, to, by: owner },
          ]),
    ]),
    ...webhooks.flatMap(({ app, events, replayAfterHealing }, webhook): Command[] => [
      { do: 'create-webhook', webhook, app: app % apps.length, events },
      { do: 'set-healing', webhook, replayAfterHealing },
    ]),
  ];
}

/** A history as a reader can follow it, one line for each thing that happens. */
export function describeHistory({ opening, steps }: History): string {
  return [
    ...openingCommands(opening).map((command) => `(opening) ${describe(command)}`),
    ...steps.map(describe),
  ].join('\n');
}

export function describe(step: Step): string {
  if (step.do === 'at-once') return `at once: ${step.both.map(describe).join('  |  ')}`;
  if (step.do === 'record' && step.answers.length > 20)
    return `record worker=${step.worker} everything succeeds`;
  const { do: verb, ...rest } = step;
  const details = Object.entries(rest).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return [verb, ...details].join(' ');
}
