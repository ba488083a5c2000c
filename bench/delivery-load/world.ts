/**
 * Creates the subscribers: 5 apps with 20 webhooks each, all bound to one organisation, and 100 apps with one webhook
 * each, bound to 100 organisations. It uses the command line, the internal API and the portal's API, with as many
 * owners as the limit of ten apps per owner requires. The many of a broadcast are created by SQL.
 */
import { addWebhooks } from '../delivery-world.ts';
import { publicUrl, type System } from './system.ts';

export type World = {
  /** A platform key. */
  key: string;
  /** The organisation whose events go to 100 webhooks. */
  fanOrg: string;
  /** The organisations whose events go to one webhook each. */
  singleOrgs: string[];
  /** The organisation whose events go to all webhooks of a broadcast. */
  broadcastOrg: string;
};

type Owner = { email: string; apps: { org: string; urls: string[] }[] };

const appsPerOwner = 10;
const webhooksPerApp = 20;
const fanOrg = 'load-fan';
const broadcastOrg = 'load-broadcast';
const password = 'correct horse battery staple';

/** Every webhook has one of these addresses. */
export async function createWorld(
  system: System,
  urls: string[],
  broadcastWebhooks: number,
): Promise<World> {
  const { key } = await system.command<{ key: string }>('keys', 'create', '--platform');
  const owners = chooseOwners(urls);
  const managers = owners.flatMap(({ email, apps }) =>
    apps.map(({ org }) => [org, email] as const),
  );
  await createOrgs(system, key, new Map([...managers, [broadcastOrg, 'load@example.org']]));
  for (const owner of owners) await createApps(system, owner);
  const singleOrgs = urls.map((_, index) => singleOrg(index));
  await addWebhooks(system, {
    org: broadcastOrg,
    webhooks: Array.from({ length: broadcastWebhooks }, (_, index) => ({
      url: new URL(`/${index}`, urls[index % urls.length]).href,
      events: ['event.created'],
    })),
    ownerOf: (app) => `broadcast-${Math.floor(app / appsPerOwner)}@example.org`,
  });
  return { key, fanOrg, singleOrgs, broadcastOrg };
}

function chooseOwners(urls: string[]): Owner[] {
  const fanApps = inGroups(urls, webhooksPerApp).map((group) => ({ org: fanOrg, urls: group }));
  const singleApps = urls.map((url, index) => ({ org: singleOrg(index), urls: [url] }));
  return [fanApps, ...inGroups(singleApps, appsPerOwner)].map((apps, index) => ({
    email: `load-${index}@example.org`,
    apps,
  }));
}

function singleOrg(index: number): string {
  return `load-${index}`;
}

function inGroups<T>(values: T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(values.length / size) }, (_, index) =>
    values.slice(index * size, (index + 1) * size),
  );
}

/** With their managers, by slug, because only a manager may bind an app. */
export async function createOrgs(
  { internalUrl }: Pick<System, 'internalUrl'>,
  key: string,
  managers: Map<string, string>,
): Promise<void> {
  const lines = [...managers].map(([slug, email]) =>
    JSON.stringify({ slug, name: slug, managers: [email] }),
  );
  await send(`${internalUrl}/internal/v1/orgs?emitEvents=false`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/x-ndjson' },
    body: lines.join('\n'),
  });
}

async function createApps(system: System, { email, apps }: Owner): Promise<void> {
  const cookie = await signUp(system, email);
  const path = '/portal/api/apps';
  for (const { org, urls } of apps) {
    const app = await callPortal(system, path, { cookie, json: { name: org } });
    const { id } = ((await app.json()) as { data: { id: string } }).data;
    await callPortal(system, `${path}/${id}/binding`, {
      method: 'PUT',
      cookie,
      json: { kind: 'organization', slug: org },
    });
    for (const url of urls)
      await callPortal(system, `${path}/${id}/webhooks`, {
        cookie,
        json: { url, events: ['event.created'] },
      });
  }
}

/** Returns the cookies of the session. */
async function signUp(system: System, email: string): Promise<string> {
  const link = await system.command<{ url: string }>('accounts', 'link', email);
  const token = new URL(link.url).hash.slice(1);
  await callPortal(system, '/portal/api/password', { json: { token, password, name: email } });
  const { headers } = await callPortal(system, '/portal/api/sign-in', {
    json: { email, password },
  });
  return headers
    .getSetCookie()
    .map((each) => each.split(';')[0])
    .join('; ');
}

function callPortal(
  { url }: System,
  path: string,
  { method = 'POST', cookie = '', json }: { method?: string; cookie?: string; json: object },
): Promise<Response> {
  return send(url + path, {
    method,
    headers: { origin: publicUrl, cookie, 'content-type': 'application/json' },
    body: JSON.stringify(json),
  });
}

async function send(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (!response.ok)
    throw new Error(`${init.method} ${url}: ${response.status} ${await response.text()}`);
  return response;
}
