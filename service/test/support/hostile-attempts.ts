/**
 * A process of its own that makes attempts at the addresses that it is given, and tells how far its memory
 * grew meanwhile and what was left after closing. It ends by itself, or not at all: nothing may hold it.
 */
import { setImmediate as turn } from 'node:timers/promises';
import ipaddr from 'ipaddr.js';
import { createSender } from '../../src/webhooks/sending/attempt.ts';

export type HostileRun = { urls: string[]; concurrent: number };
export type HostileReport = {
  grownBytes: number;
  outcomes: Record<string, number>;
  /** Kinds of sockets, questions and timers that are still there some time after closing. */
  left: string[];
};

const attemptsPerLook = 10;

process.once('message', (run: HostileRun) => void attemptAll(run));

async function attemptAll({ urls, concurrent }: HostileRun): Promise<void> {
  const allowedNetworks = [ipaddr.parseCIDR('127.0.0.0/8')];
  const sender = createSender({ allowedNetworks, timeoutMs: 30_000 });
  const outcomes: Record<string, number> = {};
  const start = usedBytes();
  let highest = start;
  let attempts = 0;
  const queue = urls.values();
  const attemptInTurn = async () => {
    for (const url of queue) {
      const { statusCode, error } = await sender.attempt({
        url,
        headers: {},
        body: Buffer.from('{}'),
      });
      const outcome = String(statusCode ?? error);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      attempts += 1;
      // Collecting takes longer than an attempt.
      if (attempts % attemptsPerLook === 0) highest = Math.max(highest, usedBytes());
    }
  };
  await Promise.all(Array.from({ length: concurrent }, attemptInTurn));
  await sender.close();
  const left = await whatIsLeft();
  const report: HostileReport = { grownBytes: highest - start, outcomes, left };
  process.send?.(report);
  process.disconnect();
}

/** Destroyed sockets take some turns to close, and a timer that waited for them would be found too. */
const closingMsMax = 5_000;

async function whatIsLeft(): Promise<string[]> {
  const until = performance.now() + closingMsMax;
  for (;;) {
    await turn();
    const left = process
      .getActiveResourcesInfo()
      .filter((kind) => /TCP|TLS|UDP|Timeout|Query|GetAddr|CARES/i.test(kind));
    if (left.length === 0 || performance.now() > until) return left;
  }
}

/** The memory in use, without garbage. */
function usedBytes(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
