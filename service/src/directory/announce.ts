/** Publishes events for organisations and alliances that are public for the first time, in the same transaction. */
import type { ManagedKind } from '../access/managers.ts';
import { sql, type Transaction } from '../database/database.ts';
import { recordEvents } from '../events/record-event.ts';
import { publicById } from './public-entries.ts';
import type { Written } from './rows.ts';

export async function announceNew(
  tx: Transaction,
  kind: ManagedKind,
  written: Written[],
  publicUrl: string,
): Promise<void> {
  const ids = written.filter(({ announced }) => announced).map(({ id }) => id);
  if (ids.length === 0) return;
  const entries = await publicById<ManagedKind>(tx, kind, ids, publicUrl);
  await recordEvents(
    tx,
    entries.map((data) =>
      kind === 'orgs'
        ? { name: 'org.created', data, orgId: data.id }
        : { name: 'alliance.created', data, allianceId: data.id },
    ),
  );
}

/** No entry that the rest of the transaction changes gets an event (`announce-changes.ts`). Triggers read the setting. */
export async function announceNothing(tx: Transaction): Promise<void> {
  await sql`select set_config('orgdir.silent', 'on', true)`.execute(tx);
}
