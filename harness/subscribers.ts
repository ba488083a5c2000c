/** Creates keys, and any number of apps with webhooks by SQL: no API and no command is needed, and 100,000 take seconds. */
import { randomUUID } from 'node:crypto';
import { createApp } from '../service/src/access/apps.ts';
import { createKey, createPlatformKey } from '../service/src/access/keys.ts';
import { sql, type Database } from '../service/src/database/database.ts';
import type { SecretBox } from '../service/src/runtime/secret-box.ts';
import { generateSecret } from '../service/src/webhooks/sending/sign.ts';
import { compileFilters } from '../service/src/webhooks/filters/compile-filters.ts';
import { maskUrl, urlOwner } from '../service/src/webhooks/sending/chat-platforms.ts';
import { headersOwner, sealedText } from '../service/src/webhooks/sending/own-headers.ts';
import { ownHeader, type ReceiverAddress } from './receivers.ts';

type Subscriber = {
  owner: string;
  /** The slug of the organisation or alliance to which the app is bound. It is created if there is none. */
  subject: string;
  webhooks: Pick<ReceiverAddress, 'url' | 'event' | 'idPrefix' | 'hasOwnHeader' | 'format'>[];
};
type System = { database: Database; secretBox: SecretBox };

const webhooksPerApp = 20;
const appsPerOwner = 10;
export const actor = { kind: 'system', id: null, name: 'harness' } as const;

/** Each is an app. Returns the secrets of all webhooks in their order. */
async function addSubscribers(
  { database, secretBox }: System,
  kind: 'org' | 'alliance',
  subscribers: Subscriber[],
): Promise<string[]> {
  const secrets: string[] = [];
  const apps = subscribers.map(({ owner, subject }) => ({ id: randomUUID(), owner, subject }));
  const webhooks = subscribers.flatMap((subscriber, index) =>
    subscriber.webhooks.map((webhook) => {
      const [id, secret] = [randomUUID(), generateSecret()];
      secrets.push(secret);
      return {
        id,
        app_id: apps[index]?.id,
        secret: secretBox.seal(secret, id).toString('hex'),
        ...columnsOf(webhook, id, secretBox),
      };
    }),
  );
  const [subjects, managers] = [sql.table(`${kind}s`), sql.table(`${kind}_managers`)];
  const subjectId = sql.ref(`${kind}_id`);
  const given = sql`jsonb_to_recordset(${JSON.stringify(apps)}::jsonb) as g(id uuid, owner text, subject text)`;
  await database.transaction().execute(async (tx) => {
    for (const statement of [
      sql`insert into ${subjects} (id, slug, name, name_sort, search_text)
        select uuid_v7(), subject, subject, subject, subject from ${given} group by subject on conflict do nothing`,
      sql`insert into ${managers} (${subjectId}, email)
        select distinct s.id, g.owner from ${given} join ${subjects} s on s.slug = g.subject on conflict do nothing`,
      sql`insert into apps (id, name) select id, 'Harness' from ${given}`,
      sql`insert into app_members (app_id, email, role) select id, owner, 'owner' from ${given}`,
      sql`insert into bindings (app_id, owner_email, ${subjectId})
        select g.id, g.owner, s.id from ${given} join ${subjects} s on s.slug = g.subject`,
      sql`insert into webhooks (id, app_id, url, events, secret, filters, filter_path, own_headers, own_header_names, format,
          sealed_url, self_healing)
        select id, app_id, url, events, decode(secret, 'hex'), filters, filter_path::jsonpath, decode(own_headers, 'hex'),
          case when own_headers is not null then array[${ownHeader.name}] end, format, decode(sealed_url, 'hex'), sealed_url is null
        from jsonb_to_recordset(${JSON.stringify(webhooks)}::jsonb) as w(id uuid, app_id uuid, url text, events text[], secret text,
          filters json, filter_path text, own_headers text, format text, sealed_url text)`,
    ])
      await statement.execute(tx);
  });
  await sql`analyze webhooks, bindings, apps, app_members, ${managers}`.execute(database);
  return secrets;
}

/** As the service stores them; bytes in hex. */
function columnsOf(
  { url, event, idPrefix, hasOwnHeader, format }: Subscriber['webhooks'][number],
  id: string,
  secretBox: SecretBox,
) {
  const seal = (text: string, owner: string) => secretBox.seal(text, owner).toString('hex');
  const filter = { request: { id: { $startsWith: idPrefix } } };
  const filters = idPrefix === undefined ? null : { [event]: filter };
  const { name, value } = ownHeader;
  return {
    url: format ? maskUrl(url) : url,
    events: [event],
    filters,
    filter_path: compileFilters(filters ?? {}, '').path,
    own_headers: hasOwnHeader ? seal(sealedText({ [name]: value }, url), headersOwner(id)) : null,
    format: format ?? 'json',
    sealed_url: format ? seal(url, urlOwner(id)) : null,
  };
}

/** Apps with up to 20 of these webhooks each, all bound to one organisation; by default ten of them have one owner. */
function inApps(
  subject: string,
  webhooks: Subscriber['webhooks'],
  { perApp = webhooksPerApp, appsEach = appsPerOwner, owner = subject } = {},
): Subscriber[] {
  return inGroups(webhooks, perApp).map((group, index) => ({
    owner: `${owner}-${Math.floor(index / appsEach)}@example.org`,
    subject,
    webhooks: group,
  }));
}

function inGroups<T>(values: T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(values.length / size) }, (_, index) =>
    values.slice(index * size, (index + 1) * size),
  );
}

/** The webhooks of receivers. 200 of one kind and alliance have one owner. Returns the secret of each by its path. */
export async function addReceivers(
  system: System,
  addresses: ReceiverAddress[],
): Promise<Record<string, string>> {
  const groups = Map.groupBy(
    addresses,
    ({ path, alliance }) => `${path.split('/')[1]}.${alliance}`,
  );
  const subscribers = [...groups].flatMap(([owner, group]) => {
    return inApps(group[0]?.alliance ?? '', group, { owner });
  });
  const secrets = await addSubscribers(system, 'alliance', subscribers);
  const paths = [...groups.values()].flat().map(({ path }) => path);
  return Object.fromEntries(paths.map((path, index) => [path, secrets[index] ?? '']));
}

export async function makePlatformKey(database: Database): Promise<string> {
  const input = { name: 'Harness', expiresAt: null };
  const { key } = await database.transaction().execute((tx) => createPlatformKey(tx, actor, input));
  return key;
}

/** The key of an app of its own. */
export async function makeAppKey(
  database: Database,
  ...scopes: string[]
): Promise<{ key: string; appId: string }> {
  return database.transaction().execute(async (tx) => {
    const appId = await createApp(tx, actor, { name: 'Harness', owner: 'harness@example.org' });
    const fields = { name: 'Harness', expiresAt: null, scopes, appId };
    return { appId, key: (await createKey(tx, actor, fields)).key };
  });
}
