/** Changes a webhook's URL, events or active state. Fields that are left out stay. */
import type { Actor } from '../../access/actor.ts';
import { recordAudit } from '../../access/audit-log.ts';
import { requireNotSuspended } from '../../access/suspensions.ts';
import type { Webhook } from '../../contract/webhook.ts';
import type { WebhookFormat } from '../../contract/delivery-rules.ts';
import { sql, type Transaction } from '../../database/database.ts';
import { invalid, type Issue } from '../../errors.ts';
import type { Filters } from '../filters/compile-filters.ts';
import type { SecretBox } from '../../runtime/secret-box.ts';
import { cancelPending } from '../queue/cancel-pending.ts';
import { endProbes, resumeLater, startProbes } from '../queue/health/healing.ts';
import type { OwnHeaders } from '../../contract/own-headers.ts';
import { checkRequest, type GuardOptions } from './check-webhook-url.ts';
import { maskUrl, urlOwner } from '../sending/chat-platforms.ts';
import { urlHost } from '../sending/url-host.ts';
import { changeOwnHeaders, type HeaderOptions, type SealedHeaders } from './seal-own-headers.ts';
import {
  checkEvents,
  distinct,
  readFilters,
  readWebhook,
  requireOtherUrl,
  wholeUrl,
} from './webhooks.ts';

export type WebhookChanges = {
  url?: string | undefined;
  /** Null means every event that the app may have. */
  events?: string[] | null | undefined;
  /** Null means that every event passes. */
  filters?: Filters | null | undefined;
  description?: string | null | undefined;
  /** All of them; null for none. */
  headers?: OwnHeaders | null | undefined;
  selfHealing?: boolean | undefined;
  replayAfterHealing?: boolean | undefined;
  /** True activates the webhook and clears its failure count; false deactivates it and cancels pending deliveries. */
  active?: boolean | undefined;
};

/** Returns the changed webhook. `requireProof` runs if it is moved or gets other headers. Throws `not_found`, `validation_failed`, and `suspended` for activating or moving a suspended one. */
export async function updateWebhook(
  tx: Transaction,
  actor: Actor,
  appId: string,
  id: string,
  changes: WebhookChanges,
  guard: GuardOptions,
  { secretBox, serviceName, requireProof }: HeaderOptions & { requireProof?: () => void },
): Promise<Webhook> {
  const eventIssues = changes.events ? await checkEvents(tx, appId, changes.events) : [];
  // Checks the owner first, so that a missing webhook gives `not_found` whether or not the body is valid.
  const before = await lockWebhook(tx, appId, id);
  const { format = 'json' } = before;
  const filters = hasSameFilters(before, changes)
    ? null
    : await readFilters(tx, appId, changes.filters);
  const issues = [
    ...checkRequest(format, changes, guard, serviceName),
    ...checkHealing(format, changes),
    ...eventIssues,
    ...(filters?.filterIssues ?? []),
  ];
  if (issues.length > 0) throw invalid(...issues);
  const newUrl = await findNewUrl(tx, id, changes.url, secretBox);
  if (newUrl !== undefined || changes.headers !== undefined) requireProof?.();
  if (changes.active === true || newUrl !== undefined)
    await requireNotSuspended(tx, 'webhook', id, appId);
  if (newUrl !== undefined) await requireOtherUrl(tx, appId, newUrl, secretBox);
  const own = await changeOwnHeaders(tx, before, changes, secretBox);
  const set = assignments(changes, filters, own);
  if (newUrl !== undefined && format === 'json') set.push(sql`url = ${newUrl}`);
  if (newUrl !== undefined && format !== 'json')
    set.push(sql`url = ${maskUrl(newUrl)}, sealed_url = ${secretBox.seal(newUrl, urlOwner(id))}`);
  await sql`
    update webhooks w set ${sql.join(set, sql`, `)} where w.id = ${id}
  `.execute(tx);
  if (changes.active === true)
    await sql`update webhook_health set exhausted_in_a_row = 0 where webhook_id = ${id}`.execute(
      tx,
    );
  const webhook = await readWebhook(tx, appId, id);
  const isMoved = newUrl !== undefined;
  const setsHeaders = changes.headers !== undefined;
  await recordChange(tx, actor, appId, { before, after: webhook, isMoved, setsHeaders });
  await adjustDelivery(tx, id, changes, isMoved);
  return webhook;
}

/** A chat channel is never probed. */
function checkHealing(format: WebhookFormat, changes: WebhookChanges): Issue[] {
  if (format === 'json') return [];
  const healing = (['selfHealing', 'replayAfterHealing'] as const).filter((one) => changes[one]);
  const message =
    'must be false: a chat channel is not probed, because each probe would be a message';
  return healing.map((one) => ({ path: `body.${one}`, message }));
}

/** Undefined if it is the one that the webhook has. */
async function findNewUrl(
  tx: Transaction,
  id: string,
  url: string | undefined,
  secretBox: SecretBox,
): Promise<string | undefined> {
  if (url === undefined) return undefined;
  const { rows } = await sql<{ id: string; url: string; sealedUrl: Buffer | null }>`
    select id, url, sealed_url as "sealedUrl" from webhooks where id = ${id}
  `.execute(tx);
  return rows.some((row) => wholeUrl(row, secretBox) === url) ? undefined : url;
}

async function lockWebhook(tx: Transaction, appId: string, id: string): Promise<Webhook> {
  await sql`
    select from webhooks where id = ${id} and app_id = ${appId} for no key update
  `.execute(tx);
  return readWebhook(tx, appId, id);
}

const auditedFields = [
  'events',
  'filters',
  'description',
  'selfHealing',
  'replayAfterHealing',
] as const;

async function recordChange(
  tx: Transaction,
  actor: Actor,
  appId: string,
  {
    before,
    after,
    isMoved,
    setsHeaders,
  }: { before: Webhook; after: Webhook; isMoved: boolean; setsHeaders: boolean },
): Promise<void> {
  const entry = { subject: { kind: 'webhook', id: after.id }, appId } as const;
  const differs = (field: keyof Webhook) =>
    JSON.stringify(before[field]) !== JSON.stringify(after[field]);
  const changed: string[] = auditedFields.filter(differs);
  // What is shown of the URL of a chat channel stays the same.
  if (isMoved) changed.unshift('url');
  // The same names may have other values.
  if (differs('headerNames') || (setsHeaders && after.headerNames?.length)) changed.push('headers');
  if (changed.length > 0) {
    const details = { changed, host: urlHost(after.url), events: after.events };
    await recordAudit(tx, actor, { ...entry, action: 'webhook.changed', details });
  }
  // One that is suspended is inactive already, and stays so when it is restored.
  if (before.deactivatedReason === null && after.deactivatedReason !== null) {
    const details = { reason: after.deactivatedReason, host: urlHost(after.url) };
    await recordAudit(tx, actor, { ...entry, action: 'webhook.deactivated', details });
  }
  if (!before.active && after.active) {
    const details = { wasDeactivated: before.deactivatedReason, host: urlHost(after.url) };
    await recordAudit(tx, actor, { ...entry, action: 'webhook.reactivated', details });
  }
}

/** Ends or begins what the change makes obsolete or due: probes, pending deliveries, and outcomes that count. */
async function adjustDelivery(
  tx: Transaction,
  id: string,
  { active, selfHealing }: WebhookChanges,
  isMoved: boolean,
): Promise<void> {
  // An owner who says whether the webhook is active decides instead of the probes.
  if (active !== undefined || selfHealing === false) await endProbes(tx, id);
  if (selfHealing === true && active === undefined) {
    await startProbes(tx, [id]);
    await resumeLater(tx, id);
  }
  if (active === false) {
    await cancelPending(tx, [id], 'deactivation');
    await sql`update webhook_healing set replay_since = null where webhook_id = ${id}`.execute(tx);
  }
  // The last probe tested another receiver, and the platform limited another channel.
  if (isMoved) {
    await sql`update webhook_healing set succeeded = false where webhook_id = ${id}`.execute(tx);
    await sql`delete from chat_limits where name = ${id}`.execute(tx);
  }
  // Earlier outcomes do not count against a webhook that was activated or moved.
  if (active === true || isMoved)
    // The outcome of a probe schedules the next one, unless the owner has ended the probes.
    await sql`
      delete from webhook_outcomes where webhook_id = ${id} and (${active === true} or verdict not like 'probe%')
    `.execute(tx);
}

/** Those that are stored stay, also if they would be refused now. */
function hasSameFilters(before: Webhook, { filters }: WebhookChanges): boolean {
  return filters === undefined || JSON.stringify(filters) === JSON.stringify(before.filters);
}

function assignments(
  { events, description, active, ...healing }: WebhookChanges,
  filters: Awaited<ReturnType<typeof readFilters>> | null,
  own: SealedHeaders | null,
) {
  const set = [sql`updated_at = now()`];
  if (events !== undefined) set.push(sql`events = ${distinct(events)}::text[]`);
  if (filters) {
    set.push(sql`filters = ${filters.filters}::json`);
    set.push(sql`filter_path = ${filters.filterPath}::jsonpath`);
  }
  if (description !== undefined) set.push(sql`description = ${description}`);
  if (healing.selfHealing !== undefined) set.push(sql`self_healing = ${healing.selfHealing}`);
  if (healing.replayAfterHealing !== undefined)
    set.push(sql`replay_after_healing = ${healing.replayAfterHealing}`);
  if (own !== null)
    set.push(sql`own_headers = ${own.sealed}`, sql`own_header_names = ${own.names}::text[]`);
  if (active === true) {
    set.push(sql`active = true`, sql`deactivated_at = null`, sql`deactivated_reason = null`);
  }
  // An inactive webhook keeps its time and reason, but a suspended one stays inactive when it is restored.
  if (active === false) {
    set.push(sql`active = false`, sql`deactivated_at = coalesce(w.deactivated_at, now())`);
    set.push(
      sql`deactivated_reason = coalesce(nullif(w.deactivated_reason, 'suspended'), 'owner')`,
    );
  }
  return set;
}
