/**
 * The baseline for the delivery worker: the same requests to the same receiver, by undici's Pool and two HMACs. It
 * stores nothing, checks nothing and reads only the status.
 */
import { randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import { deliveryHeaders, renderBody, signingKey } from '../service/src/webhooks/sending/sign.ts';

export type SendOrder = {
  urls: string[];
  count: number;
  data: string;
  secret: string;
};

/** The same limit per origin as the worker's. */
const connections = 8;
const inFlightMax = 256;
const pools = new Map<string, Pool>();

process.on('message', (order: SendOrder) => {
  void run(order).then((elapsedMs) => process.send?.({ elapsedMs }));
});
process.on('disconnect', () => process.exit());
process.send?.('ready');

async function run({ urls, count, data, secret }: SendOrder): Promise<number> {
  const targets = urls.map((text) => {
    const { origin, pathname } = new URL(text);
    const pool = pools.get(origin) ?? new Pool(origin, { connections, pipelining: 1 });
    pools.set(origin, pool);
    return { pool, path: pathname };
  });
  const secrets = { current: signingKey(secret), previous: null };
  const createdAt = new Date().toISOString();
  const startedAt = performance.now();
  let next = 0;

  async function sendAll(): Promise<void> {
    while (next < count) {
      const { pool, path } = targets[next++ % targets.length] as (typeof targets)[number];
      const id = randomUUID();
      const body = Buffer.from(renderBody({ id, event: 'org.created', createdAt, data }));
      const headers = deliveryHeaders({
        serviceName: 'Service',
        version: '0',
        id,
        event: 'org.created',
        body,
        secrets,
        now: new Date(),
      });
      const response = await pool.request({ path, method: 'POST', headers, body });
      if (response.statusCode !== 200) throw new Error(`answered ${response.statusCode}`);
      await response.body.dump();
    }
  }

  await Promise.all(Array.from({ length: inFlightMax }, () => sendAll()));
  return performance.now() - startedAt;
}
