/**
 * Writes what an operator changes in an entry to the audit log, with the values before and after; of private fields and of what
 * is deleted without them, because the log keeps everything. What the platform writes is not there: it may be a million entries
 * a day.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Actor } from '../access/actor.ts';
import { recordAudit } from '../access/audit-log.ts';
import { privateOrgFields } from '../contract/organisation.ts';
import { cutText } from '../contract/cut-text.ts';
import type { Transaction } from '../database/database.ts';

export type EntryKind = 'organization' | 'alliance' | 'blueprint';
type Fields = Record<string, unknown>;

/** Of a value: the log is no copy of the directory. */
const valueCharsMax = 500;
/** They follow from others, or have entries of their own. */
const leftOut = new Set(['id', 'url', 'createdAt', 'updatedAt', 'managers']);

export async function auditEntry(
  tx: Transaction,
  actor: Actor,
  kind: EntryKind,
  { before, after }: { before: object | null; after: object | null },
): Promise<void> {
  if (actor.kind !== 'operator') return;
  const [old, now] = [(before ?? {}) as Fields, (after ?? {}) as Fields];
  const changed = Object.keys({ ...old, ...now }).filter(
    (name) => !leftOut.has(name) && !isDeepStrictEqual(old[name], now[name]),
  );
  if (changed.length === 0) return;
  const one = after === null ? old : now;
  const isPrivate = (name: string) => name in privateOrgFields;
  const changes = changed
    .filter((name) => !isPrivate(name))
    .map((name) => [name, [shown(old[name]), shown(now[name])]]);
  await recordAudit(tx, actor, {
    action: before === null ? 'entry.created' : after === null ? 'entry.deleted' : 'entry.changed',
    subject: { kind, id: String(one['id']) },
    appId: null,
    details: {
      slug: one['slug'],
      name: one['name'],
      ...(after && {
        changes: Object.fromEntries(changes) as Fields,
        private: changed.filter(isPrivate),
      }),
    },
  });
}

function shown(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return cutText(typeof value === 'string' ? value : JSON.stringify(value), valueCharsMax);
}
