/** Stores the sizes of organisations that chat servers report, and sums them up. */
import { sql, type Transaction } from '../database/database.ts';
import { announceNothing } from './announce.ts';
import { lockDirectory } from './lock-directory.ts';

/** `members` is null if the server gave no count. */
export type ChatCount = { id: string; serverId: string; members: number | null };
/** Counts listed organisations only. */
export type ChatCounts = {
  orgs: number;
  updated: number;
  unchanged: number;
  failed: number;
  members: number;
};

/** Changes only `memberCount`. Skips organisations that now have another server, or that are gone. */
export async function writeMemberCounts(tx: Transaction, counts: ChatCount[]): Promise<ChatCounts> {
  // Takes turns with other writers of the same rows and their alliances.
  await lockDirectory(tx, 'orgs');
  // A sync may change every organisation. It is announced as a whole: `chat.sync.completed`.
  await announceNothing(tx);
  const given = counts.map(({ id, serverId, members }) => ({ id, server_id: serverId, members }));
  const { rows } = await sql<ChatCounts>`
    with given as (
      select * from jsonb_to_recordset(${JSON.stringify(given)}::jsonb)
        as g(id uuid, server_id text, members integer)
    ),
    looked_at as materialized (
      select o.id, o.listed, o.member_count as before, g.members
      from orgs o join given g on g.id = o.id and g.server_id = o.chat_server_id
      order by o.id for no key update of o
    ),
    written as (
      update orgs o set member_count = l.members
      from looked_at l where l.id = o.id and l.members <> l.before
    )
    select count(*) as orgs,
      count(*) filter (where members <> before) as updated,
      count(*) filter (where members = before) as unchanged,
      count(*) filter (where members is null) as failed,
      coalesce(sum(coalesce(members, before)), 0)::int8 as members
    from looked_at where listed
  `.execute(tx);
  const [row] = rows;
  if (!row) throw new Error('the counts were not summed up');
  const { orgs, updated, unchanged, failed, members } = row;
  return { orgs, updated, unchanged, failed, members };
}
