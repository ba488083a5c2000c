/** What happens to others, by name. Each prepares a world before it is measured, and returns how the trouble begins. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { headerCharsMax, ownHeadersMax } from '../../service/src/contract/own-headers.ts';
import { sql, type Database } from '../../service/src/database/database.ts';
import {
  compileFilters,
  filterNodesMax,
  filterTextMax,
} from '../../service/src/webhooks/filters/compile-filters.ts';
import { maskUrl, urlOwner } from '../../service/src/webhooks/sending/chat-platforms.ts';
import { headersOwner, sealedText } from '../../service/src/webhooks/sending/own-headers.ts';
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
  'new events keep 700 attempts in flight': eventsInFlight,
  'a leased delivery is locked for 45 s': lockLeased,
  '5,000 webhooks in a long outage': longOutage,
  'a platform limits 1,000 chat channels': limitedChannels,
  '300,000 deliveries wait for a lost key': lostKey,
  '200 of the heaviest filters, with own headers': heaviestFilters,
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

/** To webhooks that take just less than a slow one. */
async function eventsInFlight({ subscribe, publisher, repeat }: World) {
  await subscribe(200, '/after-900');
  return {
    async strike() {
      repeat(250, () => publisher.publish(troubled));
      await wait(5_000);
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

/** Each event waits for a platform in 1,000 channels, which are tried again every second. */
async function limitedChannels({ subscribe, publisher, repeat, system }: World) {
  const { database, secretBox } = system;
  await subscribe(1_000, '/limited');
  const channels = (await webhooksAt(database, '/limited/')).map(({ id, url }) => ({
    id,
    shown: maskUrl(url),
    sealed: secretBox.seal(url, urlOwner(id)).toString('hex'),
  }));
  await sql`
    update webhooks w set format = 'slack', url = shown, sealed_url = decode(sealed, 'hex'), self_healing = false
    from jsonb_to_recordset(${JSON.stringify(channels)}::jsonb) as t(id uuid, shown text, sealed text) where w.id = t.id
  `.execute(database);
  return {
    async strike() {
      repeat(1_000, () => publisher.publish(troubled));
    },
  };
}

/** Of 1,000 webhooks, which get new events, too. */
async function lostKey({ subscribe, publisher, receiver, repeat, system: { database } }: World) {
  await subscribe(1_000, '/hook');
  await publisher.publish(troubled);
  await receiver.ask({ do: 'wait', count: 1_000 });
  return {
    async strike() {
      await sql`
        with lost as (update webhooks set secret = 'of no key' where url like '%/hook/%' returning id)
        insert into pending_deliveries (id, event_id, event, webhook_id, trigger, due_at)
        select uuid_v7(), e.id, e.name, lost.id, 'event', queue_now()
        from lost, generate_series(1, 300), (select id, name from events order by position desc limit 1) as e
      `.execute(database);
      repeat(5_000, () => publisher.publish(troubled));
    },
  };
}

/**
 * As many webhooks as one account may have. Each of their filters compares 46 texts with 200 items, once a second, and finds
 * the last, so that the event is sent, with headers of the owner.
 */
async function heaviestFilters({ subscribe, repeat, system }: World) {
  const { database, secretBox } = system;
  const event = 'resource.request.created';
  await subscribe(200, '/heavy', event);
  await bindToAlliance(database);
  // PostgreSQL compares texts of the same length up to where they differ.
  const text = (number: number) => String(number).padStart(filterTextMax, 'item ');
  // The rest are the fields and the operator around them.
  const names = Array.from({ length: filterNodesMax - 4 }, (_, index) => text(300 + index));
  const filters = { [event]: { request: { items: { name: { $in: names } } } } };
  const { path, issues } = compileFilters(filters, 'filters');
  if (issues.length > 0) throw new Error(JSON.stringify(issues));
  const value = 'x'.repeat(Math.floor(headerCharsMax / ownHeadersMax) - 'X-Own-0'.length);
  const headers = Object.fromEntries(
    Array.from({ length: ownHeadersMax }, (_, index) => [`X-Own-${index}`, value]),
  );
  const webhooks = (await webhooksAt(database, '/heavy/')).map(({ id, url }) => ({
    id,
    sealed: secretBox.seal(sealedText(headers, url), headersOwner(id)).toString('hex'),
  }));
  await sql`
    update webhooks w set filters = ${JSON.stringify(filters)}, filter_path = ${path}::jsonpath,
      own_headers = decode(sealed, 'hex'), own_header_names = ${Object.keys(headers)}
    from jsonb_to_recordset(${JSON.stringify(webhooks)}::jsonb) as t(id uuid, sealed text) where w.id = t.id
  `.execute(database);
  const items = Array.from({ length: 200 }, (_, index) => ({ name: text(101 + index) }));
  return {
    async strike() {
      repeat(1_000, () =>
        sql`
          insert into outbox (id, name, audience, alliance_id, data)
          select uuid_v7(), ${event}, 'alliance', id, ${JSON.stringify({ request: { items } })}
          from alliances where slug = ${troubled}
        `.execute(database),
      );
    },
  };
}

/** Of the apps that are bound to the organisation: only alliances have events with lists. */
async function bindToAlliance(database: Database) {
  for (const statement of [
    sql`insert into alliances (id, slug, name, name_sort, search_text)
      values (uuid_v7(), ${troubled}, ${troubled}, ${troubled}, ${troubled})`,
    sql`insert into alliance_managers (alliance_id, email)
      select distinct a.id, owner_email from alliances a, bindings join orgs o on o.id = org_id
      where a.slug = ${troubled} and o.slug = ${troubled}`,
    sql`update bindings b set org_id = null, alliance_id = a.id from alliances a, orgs o
      where a.slug = ${troubled} and o.slug = ${troubled} and o.id = b.org_id`,
  ])
    await statement.execute(database);
}

async function webhooksAt(database: Database, path: string) {
  const { rows } = await sql<{ id: string; url: string }>`
    select id, url from webhooks where url like '%' || ${path}::text || '%'
  `.execute(database);
  return rows;
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
