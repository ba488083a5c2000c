/** The surfaces of the public API: for everybody, and for keys with a scope. */
import type { KeyScope } from '../../access/keys.ts';
import { keySecurity } from '../admission/admit.ts';
import { inTurnOfCaller } from '../admission/caller-turns.ts';
import { errorsOf, responses } from '../responses/responses.ts';

export const openSurface = {
  config: { scope: null, duringMaintenance: true },
  security: [],
  conditional: true,
  errors: { read: errorsOf.open, write: [] },
  responses,
  parameters: {},
};

export function keyedSurface(scope: KeyScope) {
  return {
    config: { scope },
    security: keySecurity,
    conditional: true,
    errors: { read: errorsOf.keyed, write: errorsOf.keyedBody },
    responses,
    parameters: {},
    inTurn: inTurnOfCaller,
    describe: ({ description }: { description: string }) =>
      `${description} Requires the scope \`${scope}\`.`,
  };
}
