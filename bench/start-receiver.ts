/** Starts `receiver.ts` in a process of its own. */
import { join } from 'node:path';
import { startProcess, type Started } from './start-process.ts';

export type Receiver = Started & {
  /** Of its origins. */
  ports: number[];
  /** Addresses of webhooks, spread over its origins. */
  urls(count: number, path?: string): string[];
};

export async function startReceiver(
  origins: number,
  cleanUps: AsyncDisposableStack,
): Promise<Receiver> {
  const receiver = await startProcess(join(import.meta.dirname, 'receiver.ts'), {
    args: [String(origins)],
    listens: false,
  });
  cleanUps.defer(() => receiver.stop());
  const [ports] = (await receiver.said) as [number[]];
  return {
    ...receiver,
    ports,
    urls: (count, path = '/hook') =>
      Array.from(
        { length: count },
        (_, index) => `http://127.0.0.1:${ports[index % ports.length]}${path}/${index}`,
      ),
  };
}
