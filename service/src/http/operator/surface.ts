/** The surface of the console's operations: below the portal's server side, and absent for everybody but operators. */
import type { FastifyRequest } from 'fastify';
import { coalesce } from '../../database/coalesce.ts';
import {
  isLockTimeout,
  sql,
  type Change,
  type Database,
  type Transaction,
} from '../../database/database.ts';
import { ServiceError } from '../../errors.ts';
import { suspendableKinds } from '../../contract/console.ts';
import type { OperatorCheck } from '../../contract/operator.ts';
import { uuid, enumOf } from '../../contract/shapes.ts';
import type { SettingInForce } from '../../settings/settings.ts';
import { readInstallation } from '../../webhooks/management/installation.ts';
import type { InternalContext } from '../internal/surface.ts';
import { holdOperator, readOnly } from '../../sign-in/operators.ts';
import { holdSession } from '../../sign-in/sessions.ts';
import { confirmedChange } from '../confirmed-change.ts';
import { operationFor, type Operation, type Surface } from '../operations.ts';
import { readMethods, signedInOf } from '../portal/authenticate.ts';
import type { PortalContext, PortalRouteDependencies, PortalSurfaces } from '../portal/surface.ts';
import type { Metrics, QueueState } from '../../runtime/metrics.ts';

const subjectKind = enumOf(
  Object.keys(suspendableKinds) as (keyof typeof suspendableKinds)[],
  'The kind of what is suspended or restored.',
);

export type OperatorDependencies = {
  readQueue: () => Promise<QueueState>;
  /** The findings of `orgdir doctor` about what this process uses. */
  readChecks: () => Promise<OperatorCheck[]>;
  settingsInForce: SettingInForce[];
  metrics: Pick<Metrics, 'requests'>;
  /** Its own connections. */
  consoleDatabase: Database;
} & Pick<InternalContext, 'publisher' | 'syncs' | 'search'>;
export type OperatorContext = PortalContext &
  Pick<InternalContext, 'writes'> &
  OperatorDependencies & { readInstallation: () => ReturnType<typeof readInstallation> };

/** It looks at every webhook, and open pages of the console ask for it all the time. */
const installationBounds = { timeoutMs: 10_000, reuseMs: 5_000 };
/** Much shorter than a person waits, and longer than any change but an import takes. */
const lockMaxMs = 3_000;
/** They open connections, and look twice at a queue that is late. */
const checksBounds = { timeoutMs: 25_000, reuseMs: 15_000, abandonAfterMs: 60_000 };

export const operation = operationFor<OperatorContext>();

/** Every write needs a recent proof. */
export function proven(operations: Operation<OperatorContext>[]): Operation<OperatorContext>[] {
  return operations.map((each) =>
    readMethods.has(each.method) ? each : { ...each, recentProof: true },
  );
}

export function operatorSurfaceOf(
  { signedIn: portal }: PortalSurfaces,
  dependencies: PortalRouteDependencies & OperatorDependencies,
): Surface<OperatorContext> {
  const database = dependencies.consoleDatabase;
  const more = {
    ...dependencies,
    database,
    writes: database,
    readChecks: coalesce(dependencies.readChecks, checksBounds),
    readInstallation: coalesce(() => readInstallation(database), installationBounds),
  };
  return {
    ...portal,
    root: '/operator',
    // What is wrong may be why there is maintenance.
    config: { portal: 'operator', duringMaintenance: true },
    parameters: { kind: subjectKind, id: uuid({ description: 'The id of what it is about.' }) },
    errors: {
      read: [...portal.errors.read, 'not_found'],
      write: [...portal.errors.write.filter((code) => code !== 'maintenance'), 'not_found'],
    },
    async contextOf(request) {
      if (!readMethods.has(request.method)) requireFullRole(request);
      const context = portal.contextOf(request);
      const { id: userId, sessionId } = context.account;
      const confirmed = confirmedChange(database, async (tx) => {
        await holdOperator(tx, userId);
        await holdSession(tx, sessionId);
      });
      const change: Change = (work) => withinLockTime(confirmed, work);
      return { ...context, ...more, change, actor: { ...context.actor, kind: 'operator' } };
    },
  };
}

/** An import locks the directory for as long as it runs. Two changes that wait for it must not keep the console's connections. */
function withinLockTime<Result>(
  change: Change,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  return change(async (tx) => {
    await sql`set local lock_timeout = ${sql.lit(lockMaxMs)}`.execute(tx);
    return work(tx);
  }).catch((error: unknown) => {
    if (!isLockTimeout(error)) throw error;
    throw new ServiceError(
      'unavailable',
      'Another change, such as an import, has locked this. Try again in a moment.',
      { headers: { 'retry-after': '5' }, cause: error },
    );
  });
}

function requireFullRole(request: FastifyRequest): void {
  if (signedInOf(request).operatorRole !== 'operator') throw readOnly();
}
