/** What happens to others, by name. Each prepares a world before it is measured, and returns how the trouble begins. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { sql } from '../../service/src/database/database.ts';
import { troubled, type World } from './world.ts';

export type Trouble = (world: World) => Promise<{
  /** Resolves when the trouble has begun; then the bystanders are measured. */
  strike: () => Promise<unknown>;
  /** How long they are measured; 16 by default. */
  seconds?: number;
}>;

const lockedSeconds = 45;
const pollMs = 5;

export const troubles: Record<string, Trouble> = {
  'event from a clock 30 days ahead': clockAhead,
  '160 quick webhooks fall silent': quickFallSilent,
  'event to 1,500 that never answered': (world) => neverAnswered(world, 1_500),
  'event to 5,000 that never answered': (world) => neverAnswered(world, 5_000),
  'import of 3,000 organisations': importOrgs,
  'three events to 5,000 quick webhooks': eventsToQuick,
  'a leased delivery is locked for 45 s': lockLeased,
  '5,000 webhooks in a long outage': longOutage,
  "datestyle of the role is 'SQL, DMY'": otherDateStyle,
};

/** As a process records it whose clock made the id. */
async function clockAhead({ system }: World) {
  return {
    strike: () =>
      sql`
        insert into outbox (id, name, audience, org_id, data)
        select (lpad(to_hex((extract(epoch from now() + interval '30 days') * 1000)::bigint), 12, '0')
            || substr(replace(uuid_v7()::text, '-', ''), 13))::uuid,
          'org.updated', 'global', id, '{}'
        from orgs where slug = ${troubled}
      `.execute(system.database),
  };
}

/** Four events per second keep their limits at the most, and fill them at once when nothing is answered any more. */
async function quickFallSilent({ subscribe, receiver, repeat, publisher }: World) {
  await subscribe(160, '/hook');
  repeat(250, () => publisher.publish(troubled));
  return { strike: () => receiver.ask({ do: 'silence' }) };
}

async function neverAnswered({ subscribe, publisher }: World, count: number) {
  await subscribe(count, '/silent');
  return { strike: () => publisher.publish(troubled) };
}

async function importOrgs({ subscribe, system, folder }: World) {
  await subscribe(5_000, '/hook', 'alliance.created');
  const file = join(folder, 'orgs.ndjson');
  const lines = Array.from({ length: 3_000 }, (_, index) =>
    JSON.stringify({ slug: `imported-${index}`, name: `Imported ${index}` }),
  );
  await writeFile(file, lines.join('\n'));
  return { strike: () => system.command('import', 'orgs', file, '--emit-events') };
}

async function eventsToQuick({ subscribe, publisher }: World) {
  await subscribe(5_000, '/hook');
  return {
    async strike() {
      for (let count = 0; count < 3; count += 1) await publisher.publish(troubled);
    },
  };
}

/** As an operator does who looks at the row of an attempt in flight, and forgets the transaction. */
async function lockLeased({ subscribe, publisher, system: { database }, holdOpen }: World) {
  await subscribe(1, '/silent');
  async function findLeased(): Promise<string> {
    const { rows } = await sql<{ id: string }>`
      select p.id from pending_deliveries p join webhooks w on w.id = p.webhook_id
      where w.url like '%/silent/%' and p.lease_token is not null
    `.execute(database);
    return rows[0]?.id ?? wait(pollMs).then(findLeased);
  }
  return {
    seconds: lockedSeconds,
    async strike() {
      await publisher.publish(troubled);
      const id = await findLeased();
      const lock = sql`select from pending_deliveries where id = ${id} for update`;
      await holdOpen((tx) => lock.execute(tx), lockedSeconds);
    },
  };
}

/** They answered once. By the time of the measurement their attempts and retries have met the deadline for half a minute. */
async function longOutage({ subscribe, publisher, receiver, repeat }: World) {
  await subscribe(5_000, '/hook');
  await publisher.publish(troubled);
  await receiver.ask({ do: 'wait', count: 5_000 });
  return {
    async strike() {
      await receiver.ask({ do: 'silence' });
      repeat(5_000, () => publisher.publish(troubled));
      await wait(30_000);
    },
  };
}

/** New sessions have it, so the service starts again. */
async function otherDateStyle({ system }: World) {
  return {
    async strike() {
      await sql`alter role current_user set datestyle = 'SQL, DMY'`.execute(system.database);
      await system.restart();
    },
  };
}
