/**
 * The first account of an installation: whoever reads its terminal gets a link, and makes it without any mail. A link
 * works once, for a day, and only while there is no account; the database knows its SHA-256 alone.
 */
import { hash, randomBytes } from 'node:crypto';
import { normaliseEmail } from '../access/email.ts';
import { sql, type Database, type Executor } from '../database/database.ts';
import type { Auth } from './auth.ts';

export type NewAccount = { token: string; email: string; name: string; password: string };
export type FirstAccount = { kind: 'created'; userId: string } | { kind: 'refused' };

const hoursValid = 24;

export function createFirstAccount(database: Database, publicUrl: string) {
  return {
    async offer(): Promise<string | null> {
      const token = randomBytes(32).toString('base64url');
      const { rows } = await sql`
        insert into first_account_links (hash, expires_at)
        select ${digest(token)}, now() + ${hoursValid} * interval '1 hour' where not exists (select from users)
        returning 1
      `.execute(database);
      if (rows.length === 0) return null;
      await sql`delete from first_account_links where expires_at <= now()`.execute(database);
      // Behind `#`, which no server and no log on the way sees.
      return `${publicUrl}/profile/developer/first-account#${token}`;
    },

    async create(auth: Auth, { token, email, name, password }: NewAccount): Promise<FirstAccount> {
      // Before the hash is computed, which is what a flood of guesses would be after.
      if (!(await isValid(database, token))) return { kind: 'refused' };
      const address = normaliseEmail(email, 'body.email');
      const context = await auth.$context;
      const passwordHash = await context.password.hash(password);
      // Of two who come at once with the same link, one finds it gone.
      if (!(await takeLink(database, token))) return { kind: 'refused' };
      // Whoever reads the terminal could write it into the database too.
      const user = await context.internalAdapter.createUser(
        { email: address, name, emailVerified: true },
        { method: 'email-password' },
      );
      await context.internalAdapter.linkAccount({
        userId: user.id,
        providerId: 'credential',
        accountId: user.id,
        password: passwordHash,
      });
      return { kind: 'created', userId: user.id };
    },
  };
}

async function isValid(executor: Executor, token: string): Promise<boolean> {
  const { rows } = await sql`
    select 1 from first_account_links
    where hash = ${digest(token)} and expires_at > now() and not exists (select from users)
  `.execute(executor);
  return rows.length > 0;
}

/** All links go with the one: there is but one first account. */
async function takeLink(database: Database, token: string): Promise<boolean> {
  return database.transaction().execute(async (tx) => {
    await sql`lock table first_account_links in exclusive mode`.execute(tx);
    if (!(await isValid(tx, token))) return false;
    await sql`delete from first_account_links`.execute(tx);
    return true;
  });
}

function digest(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
