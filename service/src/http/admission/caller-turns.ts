/** Lets a few requests of each caller run at a time in this process, so that nobody takes all connections to the database. */
import type { FastifyRequest } from 'fastify';
import { createTurnsOfCallers } from '../../database/create-turns.ts';
import { invalid, ServiceError } from '../../errors.ts';
import { addressBucket } from './rate-limit.ts';

export const runningMax = 8;
export const waitingMax = 200;

const inTurn = createTurnsOfCallers(runningMax, (waiting) => {
  if (waiting < waitingMax) return;
  const message = `Too many requests at once: ${runningMax} run at a time, and ${waitingMax} are waiting.`;
  throw new ServiceError('rate_limited', message, { headers: { 'retry-after': '1' } });
});

/** The caller is the app of the key, the account, or else the address. Throws `rate_limited`. */
export function inTurnOfCaller<Result>(
  request: FastifyRequest,
  run: () => Result | Promise<Result>,
): Promise<Result> {
  const { caller, signedIn, ip, raw } = request;
  return inTurn(caller?.appId ?? signedIn?.userId ?? addressBucket(ip), async () => {
    // Whoever has left takes no turn from what they ask next. As in `send-error.ts`: it is no failure of the service.
    if (raw.socket.destroyed) throw invalid({ path: 'request', message: 'ended early' });
    return run();
  });
}

/** For what is read to find out who calls. */
export function inTurnOfAddress<Result>(
  { ip }: FastifyRequest,
  run: () => Promise<Result>,
): Promise<Result> {
  return inTurn(`session ${addressBucket(ip)}`, run);
}
