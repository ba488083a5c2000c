/** Creates alliances, bound apps and webhooks for the receivers with the functions of the service. */
import { Readable } from 'node:stream';
import { createApp } from '../service/src/access/apps.ts';
import { bindApp } from '../service/src/access/bindings.ts';
import { addManager } from '../service/src/access/managers.ts';
import { loadConfig } from '../service/src/settings/config.ts';
import { sql, type Database, type Transaction } from '../service/src/database/database.ts';
import { readNdjson } from '../service/src/directory/import-source.ts';
import { importLines } from '../service/src/directory/import.ts';
import type { SecretBox } from '../service/src/runtime/secret-box.ts';
import { createWebhook } from '../service/src/webhooks/management/webhooks.ts';
import type { ReceiverAddress } from './receivers.ts';

const webhooksPerApp = 20;
const appsPerOwner = 10;

/** Allows the service to send to this machine, and to receivers that network namespaces reach (`scale/machine.ts`). */
export const loopbackAllowed = {
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8,198.18.0.0/15',
  WEBHOOK_ALLOW_HTTP: 'true',
};

const actor = { kind: 'system', id: null, name: 'faults' } as const;

/** Returns the secret of each webhook by its path. 200 webhooks of one kind and alliance have one owner. */
export async function createWebhooks(
  database: Database,
  secretBox: SecretBox,
  addresses: ReceiverAddress[],
): Promise<Record<string, string>> {
  const guard = loadConfig(loopbackAllowed).webhooks;
  return database.transaction().execute(async (tx) => {
    const allianceIds = await makeAlliances(tx, new Set(addresses.map((each) => each.alliance)));
    const secrets: Record<string, string> = {};
    let app = { id: '', alliance: '' };
    for (const { event, alliance, path, url } of addresses) {
      const [, kind, number] = path.split('/');
      if (Number(number) % webhooksPerApp === 0 || alliance !== app.alliance) {
        const allianceId = allianceIds.get(alliance) as string;
        const owner = Math.floor(Number(number) / webhooksPerApp / appsPerOwner);
        app = {
          id: await makeApp(tx, allianceId, `${kind}.${owner}.${alliance}@example.org`),
          alliance,
        };
      }
      const webhook = await createWebhook(
        tx,
        actor,
        app.id,
        { url, events: [event] },
        guard,
        secretBox,
      );
      secrets[path] = webhook.secret;
    }
    return secrets;
  });
}

/** Returns their ids by slug. */
async function makeAlliances(tx: Transaction, slugs: Set<string>): Promise<Map<string, string>> {
  const text = [...slugs].map((slug) => `${JSON.stringify({ slug, name: slug })}\n`).join('');
  const lines = readNdjson(Readable.from([Buffer.from(text)]));
  const options = { skipBad: false, emitEvents: false, publicUrl: 'http://directory.test' };
  await importLines(tx, lines, { kind: 'alliances', ...options });
  const { rows } = await sql<{ id: string; slug: string }>`
    select id, slug from alliances
  `.execute(tx);
  return new Map(rows.map(({ id, slug }) => [slug, id]));
}

async function makeApp(tx: Transaction, allianceId: string, owner: string): Promise<string> {
  await addManager(tx, actor, { kind: 'alliance', id: allianceId }, owner);
  const appId = await createApp(tx, actor, { name: 'Receivers', owner });
  await bindApp(tx, actor, appId, { kind: 'alliance', id: allianceId });
  return appId;
}
