/**
 * Addresses and domains from which an operator lets nobody sign up, and whether sign-up is closed to everybody. They say
 * nothing about accounts that exist, and nothing about links that the operator hands over.
 */
import type { Actor } from '../access/actor.ts';
import { recordAudit } from '../access/audit-log.ts';
import { normaliseEmail } from '../access/email.ts';
import { sql, type Executor, type Transaction } from '../database/database.ts';
import { invalid } from '../errors.ts';

export type SignUpBlock = { pattern: string; createdAt: Date };

/** The pattern that stands for everybody. */
export const everybody = '*';
/** DNS names have at most 253 characters, in labels of at most 63. */
const domain = /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$/;

/** Returns false if it is blocked, or not blocked, already. Throws `validation_failed`. */
export async function setSignUpBlock(
  tx: Transaction,
  actor: Actor,
  given: string,
  isBlocked: boolean,
): Promise<{ pattern: string; changed: boolean }> {
  const pattern = readPattern(given);
  const { rows } = await (
    isBlocked
      ? sql`insert into sign_up_blocks (pattern) values (${pattern}) on conflict do nothing returning 1`
      : sql`delete from sign_up_blocks where pattern = ${pattern} returning 1`
  ).execute(tx);
  if (rows.length === 0) return { pattern, changed: false };
  // A link always works, so that an operator can hand one over; those that are on their way end here.
  if (isBlocked)
    await sql`
      delete from password_links l where not exists (select from users u where u.email = l.email) and ${isBlockedBy('l.email')}
    `.execute(tx);
  await recordAudit(tx, actor, {
    action: isBlocked ? 'signup.blocked' : 'signup.unblocked',
    subject: { kind: 'signup', id: null },
    appId: null,
    details: { pattern },
  });
  return { pattern, changed: true };
}

/** In the order of their patterns. */
export async function listSignUpBlocks(executor: Executor): Promise<SignUpBlock[]> {
  const { rows } = await sql<SignUpBlock>`
    select pattern, created_at as "createdAt" from sign_up_blocks order by pattern
  `.execute(executor);
  return rows;
}

/** Whether nobody may create an account with this address. */
export function isSignUpBlocked(email: string) {
  return sql`(select ${isBlockedBy('l.email')} from (values (${email}::text)) as l(email))`;
}

/** Over a column with an address. An address with a tag (`ada+tag@…`) counts as the one without. */
function isBlockedBy(column: string) {
  const email = sql.ref(column);
  return sql`
    exists (
      select from sign_up_blocks b
      where b.pattern in (${everybody}, ${email}, regexp_replace(${email}, '\\+[^@]*@', '@'))
        or right('.' || split_part(${email}, '@', 2), length(b.pattern) + 1) = '.' || b.pattern
    )
  `;
}

export const signUpRefused =
  'No account can be created for this address. Ask the operator of this service.';

/** Throws `validation_failed`. */
export function readPattern(given: string): string {
  const text = given.trim().toLowerCase();
  if (text === everybody) return text;
  if (text.includes('@')) return normaliseEmail(text);
  if (domain.test(text)) return text;
  throw invalid({
    path: 'pattern',
    message: 'must be an address or a domain, such as ada@example.org or example.org',
  });
}
