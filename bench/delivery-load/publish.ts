/** Publishes events over the internal API, with several publishers or at a fixed rate, or waits without publishing. */
import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';
import { publishSteadily } from '../publish-steadily.ts';
import type { System } from './system.ts';
import type { Tally } from './tally.ts';
import type { World } from './world.ts';

export type Load = {
  name: string;
  events: number;
  /** The number of webhooks that receive each event. */
  webhooks: number;
  /** Whose events go to so many. */
  to: 'singleOrgs' | 'fanOrg' | 'broadcastOrg';
} & ({ publishers: number } | { perSecond: number } | { idleMs: number });

export type Published = { errors: number; firstError: string | null };

type Publish = (event: number) => Promise<void>;

const location = 'lorem ipsum dolor sit amet '.repeat(7);

/** Resolves when every event is published or refused. */
export async function publishAll(
  load: Load,
  { system, world, tally }: { system: System; world: World; tally: Tally },
): Promise<Published> {
  const pool = new Pool(system.internalUrl, { connections: 32 });
  const orgs = [world[load.to]].flat();
  const headers = { authorization: `Bearer ${world.key}`, 'content-type': 'application/json' };
  const published: Published = { errors: 0, firstError: null };

  async function publish(event: number): Promise<void> {
    const title = tally.publishing(event);
    const org = orgs[event % orgs.length] as string;
    try {
      const response = await pool.request({
        method: 'POST',
        path: '/internal/v1/events',
        headers,
        body: JSON.stringify({ event: 'event.created', org, data: eventData(title) }),
      });
      const text = await response.body.text();
      if (response.statusCode !== 201) throw new Error(`${response.statusCode} ${text}`);
    } catch (error) {
      published.errors += 1;
      published.firstError ??= String(error);
    }
  }

  if ('idleMs' in load) await wait(load.idleMs);
  else if ('publishers' in load) await publishInParallel(publish, load);
  else await publishSteadily(publish, load);
  await pool.close();
  return published;
}

function eventData(title: string) {
  const startsAt = '2027-01-31T12:00:00Z';
  const unset = { category: null, endsAt: null, url: null };
  return { id: 'load', title, startsAt, timezone: 'UTC', location, ...unset };
}

async function publishInParallel(
  publish: Publish,
  { events, publishers }: { events: number; publishers: number },
): Promise<void> {
  let next = 0;
  async function publishNext(): Promise<void> {
    while (next < events) await publish(next++);
  }
  await Promise.all(Array.from({ length: publishers }, publishNext));
}
