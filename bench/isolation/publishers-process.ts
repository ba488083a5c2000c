/** Publishers that try again at once, whatever the service says. Arguments: its internal address, a key, a slug, how many. */
import { Pool } from 'undici';
import { stampedData } from '../delivery-world.ts';

const [internalUrl = '', key = '', org = '', count = '1'] = process.argv.slice(2);
/** Nothing else keeps a connection that is refused from being tried in a tight loop. */
const connectPauseMs = 10;

const pool = new Pool(internalUrl, { connections: Number(count) });
const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };

async function insist(): Promise<void> {
  for (;;) {
    const body = JSON.stringify({ event: 'application.created', org, data: stampedData() });
    try {
      const path = '/internal/v1/events';
      const response = await pool.request({ method: 'POST', path, headers, body });
      await response.body.dump();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, connectPauseMs));
    }
  }
}

process.on('disconnect', () => process.exit());
process.send?.('started');
await Promise.all(Array.from({ length: Number(count) }, insist));
