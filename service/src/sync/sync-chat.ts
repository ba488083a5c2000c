/**
 * Performs one run of the chat sync: lists the servers, asks the provider for each member count with no transaction
 * open, then writes all counts and the event in one transaction. A server that cannot be read keeps its count.
 */
import type { SyncProblem, SyncRun } from '../contract/sync-run.ts';
import {
  sql,
  type ConnectionSettings,
  type Database,
  type Transaction,
} from '../database/database.ts';
import type { ChatAnswer, ChatProvider } from './chat-provider.ts';
import { performRun, type CompleteRun, type DueTime, type RunOutcome } from './perform-run.ts';
import type { StartedBy } from './runs.ts';
import { SyncFailure } from './sync-failure.ts';
import { announceNothing } from '../directory/announce.ts';
import { lockDirectory } from '../directory/lock-directory.ts';

export type ChatSyncRequest = StartedBy & {
  provider: ChatProvider;
  trigger: SyncRun['trigger'];
  signal: AbortSignal;
  onStart?: (run: SyncRun) => void;
  onProgress?: (asked: number, servers: number) => void;
  /** The time limit for asking, half an hour; counts that are missing by then count as failed. */
  askMsMax?: number;
  due?: DueTime;
};

/** Stays below Discord's 50 requests per second at the usual response time of a fifth of a second. */
const askedAtOnceMax = 8;
export const askMsMax = 30 * 60_000;
/** After this many failures in a row the provider counts as down, and the rest is not asked. */
const awayInARowMax = 40;
const deadlockTriesMax = 3;

export async function syncChat(
  connection: ConnectionSettings,
  request: ChatSyncRequest,
): Promise<RunOutcome> {
  const { provider, trigger, actor, signal, onStart, due } = request;
  return performRun(
    connection,
    {
      kind: 'chat',
      source: provider.name,
      publicSource: provider.name,
      trigger,
      actor,
      signal,
      onStart,
      due,
    },
    async (session, complete) => {
      const orgs = await listChatOrgs(session);
      const asked = await askAll([...new Set(orgs.map(({ serverId }) => serverId))], request);
      requireAnswers(asked);
      return record(session, complete, orgs, asked);
    },
  );
}

type ChatOrg = { id: string; slug: string; serverId: string };

/** Random order, so that a run that takes too long does not skip the same servers each time. */
async function listChatOrgs(session: Database): Promise<ChatOrg[]> {
  const { rows } = await sql<ChatOrg>`
    select id, slug, chat_server_id as "serverId" from orgs where chat_server_id is not null order by random()
  `.execute(session);
  return rows;
}

type Asked = Map<string, ChatAnswer>;

async function askAll(servers: string[], request: ChatSyncRequest): Promise<Asked> {
  const { provider, onProgress } = request;
  const ending = new AbortController();
  const signal = AbortSignal.any([request.signal, ending.signal]);
  const deadline = performance.now() + (request.askMsMax ?? askMsMax);
  const asked: Asked = new Map();
  const waiting = servers.values();
  let awayInARow = 0;

  function reasonToStop(): string | null {
    if (performance.now() > deadline) return 'the run took too long to ask for it';
    if (awayInARow >= awayInARowMax) return `${provider.name} gave no answer for those before it`;
    return null;
  }

  async function askNext(): Promise<void> {
    // All workers share one iterator, so each server is asked once.
    for (const server of waiting) {
      signal.throwIfAborted();
      const stop = reasonToStop();
      const answer: ChatAnswer =
        stop === null
          ? await provider.readMembers(server, deadline, signal)
          : { kind: 'away', reason: stop };
      if (answer.kind === 'unauthorized') throw new SyncFailure('unauthorized', answer.reason);
      awayInARow = answer.kind === 'away' ? awayInARow + 1 : 0;
      asked.set(server, answer);
      onProgress?.(asked.size, servers.length);
    }
  }

  /** The first error ends the other workers too, and all have ended before the run is recorded. */
  async function askInTurn(): Promise<void> {
    try {
      await askNext();
    } catch (error) {
      ending.abort();
      throw error;
    }
  }

  const all = await Promise.allSettled(Array.from({ length: askedAtOnceMax }, askInTurn));
  const failed = all
    .filter((each) => each.status === 'rejected')
    .map(({ reason }) => reason as Error);
  const cause = failed.find((error) => error instanceof SyncFailure) ?? failed[0];
  if (cause) throw cause;
  return asked;
}

/** Missing or closed servers are their owners' to fix; a provider that never responds fails the run. */
function requireAnswers(asked: Asked): void {
  const answers = [...asked.values()];
  const [first] = answers;
  if (first?.kind !== 'away' || answers.some(({ kind }) => kind !== 'away')) return;
  throw new SyncFailure('unavailable', `no chat server could be read: ${first.reason}`);
}

async function record(
  session: Database,
  complete: CompleteRun,
  orgs: ChatOrg[],
  asked: Asked,
): Promise<SyncRun> {
  const answers = orgs.map((org): ChatCount => {
    const answer = asked.get(org.serverId);
    return { ...org, members: answer?.kind === 'members' ? answer.members : null };
  });
  const problems = orgs.flatMap(({ slug, serverId }): SyncProblem[] => {
    const answer = asked.get(serverId);
    return answer && 'reason' in answer ? [{ subject: slug, reason: answer.reason }] : [];
  });
  for (let tries = 1; ; tries += 1) {
    try {
      return await session.transaction().execute(async (tx) => {
        const counts = await writeMemberCounts(tx, answers);
        return complete(tx, { counts, version: null, problems, validators: null });
      });
    } catch (error) {
      // A change of an alliance's members locks the same rows in another order, so one of the two may have to restart.
      if ((error as { code?: string }).code !== deadlockDetected || tries >= deadlockTriesMax)
        throw error;
    }
  }
}

const deadlockDetected = '40P01';

/** `members` is null if the server gave no count. */
type ChatCount = { id: string; serverId: string; members: number | null };
/** Counts listed organisations only. */
type ChatCounts = {
  orgs: number;
  updated: number;
  unchanged: number;
  failed: number;
  members: number;
};

/** Stores and sums up the sizes that servers report. Skips organisations that now have another server, or that are gone. */
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
  return row;
}
