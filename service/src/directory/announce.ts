/** Publishes events for organisations and alliances that are public for the first time, in the same transaction. */
import { sql, type Transaction } from '../database/database.ts';
import { recordEvents } from '../events/record-event.ts';
import { publicAlliances, type WrittenAlliance } from './alliances.ts';
import { publicOrgs, type WrittenOrg } from './orgs.ts';

export async function announceOrgs(
  tx: Transaction,
  written: WrittenOrg[],
  publicUrl: string,
): Promise<void> {
  const ids = written.filter(({ announced }) => announced).map(({ id }) => id);
  if (ids.length === 0) return;
  const orgs = await publicOrgs(tx, ids, publicUrl);
  await recordEvents(
    tx,
    orgs.map((data) => ({ name: 'org.created', data, orgId: data.id })),
  );
}

export async function announceAlliances(
  tx: Transaction,
  written: WrittenAlliance[],
  publicUrl: string,
): Promise<void> {
  const ids = written.filter(({ created }) => created).map(({ id }) => id);
  if (ids.length === 0) return;
  const alliances = await publicAlliances(tx, ids, publicUrl);
  await recordEvents(
    tx,
    alliances.map((data) => ({ name: 'alliance.created', data, allianceId: data.id })),
  );
}

/** No entry that the rest of the transaction changes gets an event (`announce-changes.ts`). Triggers read the setting. */
export async function announceNothing(tx: Transaction): Promise<void> {
  await sql`select set_config('orgdir.silent', 'on', true)`.execute(tx);
}
