import type { WorkerProcess } from '../faults/worker-process.ts';

/** The addresses that a started process has logged. */
export function addressesOf(process: WorkerProcess): { address: string; internalAddress: string } {
  const lines = process.stdout().split('\n');
  const started = lines.find((line) => line.includes('service.started'));
  return JSON.parse(started ?? '{}') as { address: string; internalAddress: string };
}
