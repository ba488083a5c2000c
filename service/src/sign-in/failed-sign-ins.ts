/**
 * Counts failed sign-ins for the audit log: one entry for each account and minute, however many there were, so that a
 * flood of guesses cannot fill the log.
 */
import { sql, type Database } from '../database/database.ts';
import type { Logger } from '../runtime/log.ts';
import { recordActivity, type Account } from './activity.ts';
import type { Caller } from './caller.ts';

export type FailedSignIns = ReturnType<typeof createFailedSignIns>;

type Count = { account: Account; count: number; since: Date; ips: Set<string>; last: Caller };

const gatheredMs = 60_000;
/** Accounts counted at once; then they are written early. */
const accountsMax = 1_000;
/** The addresses named in one entry. */
const ipsMax = 10;

export function createFailedSignIns(database: Database, log: Logger) {
  let counts = new Map<string, Count>();
  let timer: NodeJS.Timeout | undefined;

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const written = counts;
    counts = new Map();
    try {
      await write(database, [...written.values()]);
    } catch (error) {
      log.warn(
        { accounts: written.size, reason: (error as Error).message },
        'sign_in.count_failed',
      );
    }
  }

  return {
    /** Writes what is counted so far. */
    flush,
    /** Nothing is kept for an address without an account. Never throws. */
    async add(email: string, caller: Caller): Promise<void> {
      const account = await findAccount(database, email).catch(() => null);
      if (account === null) return;
      const count = counts.get(account.id) ?? start(account, caller);
      counts.set(account.id, count);
      count.count += 1;
      count.last = caller;
      if (count.ips.size < ipsMax) count.ips.add(caller.ip);
      if (counts.size >= accountsMax) return flush();
      timer ??= setTimeout(() => void flush(), gatheredMs).unref();
    },
  };
}

function start(account: Account, caller: Caller): Count {
  return { account, count: 0, since: new Date(), ips: new Set(), last: caller };
}

async function findAccount(database: Database, email: string): Promise<Account | null> {
  const { rows } = await sql<Account>`
    select id, email from users where email = ${email}
  `.execute(database);
  return rows[0] ?? null;
}

async function write(database: Database, counts: Count[]): Promise<void> {
  if (counts.length === 0) return;
  await database.transaction().execute(async (tx) => {
    for (const { account, count, since, ips, last } of counts)
      await recordActivity(
        tx,
        'account.sign_in_failed',
        { ...account, caller: last },
        {
          actor: { kind: 'system', id: null, name: 'sign-in' },
          count,
          since: since.toISOString(),
          ips: [...ips],
        },
      );
  });
}
