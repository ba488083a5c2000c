/** Publishes over the internal API as a platform does: it tries again until the event is accepted. */
import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';
import { stampedData } from '../delivery-world.ts';

export type Publisher = {
  /**
   * The event contains the time of the try that was accepted, unless it is not stamped: a service that refuses one says that it
   * has to come again. It is given up after a minute.
   */
  publish: (org: string, options?: { stamped: boolean }) => Promise<void>;
};

const pauseMs = 200;
const giveUpMs = 60_000;

export function openPublisher(
  internalUrl: string,
  key: string,
  cleanUps: AsyncDisposableStack,
): Publisher {
  const pool = new Pool(internalUrl, { connections: 32 });
  cleanUps.defer(() => pool.destroy());

  const path = '/internal/v1/events';
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };

  async function isAccepted(org: string, stamped: boolean): Promise<boolean> {
    const data = { ...stampedData(), ...(!stamped && { id: 'unstamped' }) };
    const body = JSON.stringify({ event: 'application.created', org, data });
    const response = await pool.request({ method: 'POST', path, headers, body });
    const text = await response.body.text();
    if (response.statusCode >= 400 && response.statusCode < 500 && response.statusCode !== 429)
      throw new Error(`${response.statusCode} ${text}`);
    return response.statusCode < 300;
  }

  return {
    async publish(org, { stamped } = { stamped: true }) {
      const givesUpAt = performance.now() + giveUpMs;
      while (performance.now() < givesUpAt) {
        if (await isAccepted(org, stamped).catch(isUnreachable)) return;
        await wait(pauseMs);
      }
    },
  };
}

/** The service is stopped. */
function isUnreachable(error: { code?: string }): false {
  if (error.code === undefined) throw error;
  return false;
}
