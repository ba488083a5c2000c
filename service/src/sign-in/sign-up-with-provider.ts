/**
 * Creates the account of somebody who comes from a provider for the first time, before better-auth looks for it. Left to
 * itself, better-auth writes the user and how to sign in one after the other: a second browser of the same person would find
 * half an account, or write the same user.
 */
import { v7 as uuidv7 } from 'uuid';
import { sql, type Database, type Executor, type Transaction } from '../database/database.ts';
import { startOf } from '../contract/texts.ts';
import { recordActivity } from './activity.ts';
import { callers } from './caller.ts';
import { isSignUpBlocked } from './sign-up-blocks.ts';

export type ProvidedAccount = {
  provider: string;
  /** The provider's id of the person. */
  subject: string;
  /** As `providerIdentity` gives it. */
  email: string;
  name: string;
  image: string | null;
};

/** The advisory locks of sign-ups, one per person. */
const signUpLock = 70420028;

/** Does nothing if the person has an account, if another one has the address, or if nobody may sign up with it. */
export async function signUpWithProvider(
  database: Database,
  provided: ProvidedAccount,
): Promise<void> {
  if (await isKnown(database, provided)) return;
  await database.transaction().execute(async (tx) => {
    const { provider, subject, email } = provided;
    // The person's other browsers wait here, whatever address the provider gives them.
    const person = `${provider} ${subject}`;
    await sql`select pg_advisory_xact_lock(${sql.lit(signUpLock)}, hashtext(${person}))`.execute(
      tx,
    );
    if (await isKnown(tx, provided)) return;
    await deleteUnfinished(tx, email);
    const id = await createUser(tx, provided);
    if (id === null) return;
    await sql`
      insert into accounts (id, user_id, provider_id, account_id) values (${uuidv7()}, ${id}, ${provider}, ${subject})
    `.execute(tx);
    await recordActivity(
      tx,
      'account.created',
      { id, email, caller: callers.getStore() ?? null },
      { provider },
    );
  });
}

async function isKnown(
  executor: Executor,
  { provider, subject }: ProvidedAccount,
): Promise<boolean> {
  const { rows } = await sql`
    select from accounts where provider_id = ${provider} and account_id = ${subject}
  `.execute(executor);
  return rows.length > 0;
}

/** Null: the address has a user, or may not sign up. */
async function createUser(
  tx: Transaction,
  { email, name, image }: ProvidedAccount,
): Promise<string | null> {
  const { rows } = await sql<{ id: string }>`
    insert into users (id, name, email, email_verified, image)
    select ${uuidv7()}::uuid, ${cleanName(name)}, ${email}, true, ${image}
    -- A user that is there would have the links of the address deleted by a trigger.
    where not exists (select from users where email = ${email}) and not ${isSignUpBlocked(email)}
    on conflict (email) do nothing returning id
  `.execute(tx);
  return rows[0]?.id ?? null;
}

/**
 * Deletes the user with this address whose sign-up with a provider broke off in a version that wrote the user first and how to
 * sign in second. Whoever has a password or a provider keeps it, and a suspension or a role in the console stays, too;
 * nothing else hangs on such a user.
 */
async function deleteUnfinished(tx: Transaction, email: string): Promise<void> {
  const isUnfinished = sql`
    not exists (select from accounts where user_id = users.id)
    and not exists (select from passkeys where user_id = users.id)
    and not exists (select from sessions where user_id = users.id)
    and not exists (select from suspensions where account_id = users.id)
    and not exists (select from operators where account_id = users.id)
  `;
  // Whatever is being written for the user is there when the lock is.
  const { rows } = await sql`
    select from users where email = ${email} and ${isUnfinished} for update
  `.execute(tx);
  if (rows.length === 0) return;
  await sql`delete from users where email = ${email} and ${isUnfinished}`.execute(tx);
}

/** A provider gives any name; ours have 1 to 100 characters and none that controls a terminal. */
function cleanName(name: string): string {
  const clean = name.replaceAll(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, '').trim();
  return startOf(clean, 100).trim() || 'Unnamed';
}
