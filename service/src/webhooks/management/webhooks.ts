/** Stores webhooks and checks who owns them. Another app's webhook gives the same error as a missing one. */
import { v7 as uuidv7 } from 'uuid';
import type { Actor } from '../../access/actor.ts';
import { recordAudit } from '../../access/audit-log.ts';
import {
  refuseSuspended,
  requireNotSuspended,
  suspensionOf,
  type Suspension,
} from '../../access/suspensions.ts';
import { enforceQuota } from '../../access/quotas.ts';
import { lockApp } from '../../access/require-role.ts';
import type { AppRole } from '../../contract/app-roles.ts';
import { withTextTimes, type Dated } from '../../contract/parse-time.ts';
import { issuesMax } from '../../contract/validate.ts';
import type { CreatedWebhook, Webhook } from '../../contract/webhook.ts';
import type { WebhookFormat } from '../../contract/delivery-rules.ts';
import {
  sql,
  type Database,
  type Executor,
  type LeftJoined,
  type Transaction,
  pageOf,
} from '../../database/database.ts';
import { invalid, ServiceError, type Issue } from '../../errors.ts';
import {
  catalogue,
  catalogueEntry,
  subscribableEvents,
  type EventName,
} from '../../events/catalogue.ts';
import { compileFilters, type Filters } from '../filters/compile-filters.ts';
import { cancelPending } from '../queue/cancel-pending.ts';
import { requireProcessesSince } from '../queue/workers.ts';
import type { OwnHeaders } from '../../contract/own-headers.ts';
import { checkRequest, type GuardOptions } from './check-webhook-url.ts';
import type { SecretBox } from '../../runtime/secret-box.ts';
import { generateSecret } from '../sending/sign.ts';
import { sealOwnHeaders, type HeaderOptions } from './seal-own-headers.ts';
import { healthJoins, webhookHealth } from '../notifications/webhook-health.ts';
import { maskUrl, platforms, urlOwner } from '../sending/chat-platforms.ts';
import type { Deliverable } from '../sending/deliverable.ts';
import { urlHost, normaliseHost } from '../sending/url-host.ts';

type WebhookRow = Required<Dated<Webhook>>;

/** Webhooks `w` as their apps see them. */
const columns = sql`
  w.id, w.url, w.format, w.description, w.events, w.filters, w.active, ${webhookHealth} as health,
    -- One that was active before its suspension is not deactivated, although it receives nothing.
    case when w.deactivated_reason <> 'suspended' then w.deactivated_at end as "deactivatedAt",
    nullif(w.deactivated_reason, 'suspended') as "deactivatedReason", s."suspendedAt", s."suspendedReason",
    w.self_healing as "selfHealing", w.replay_after_healing as "replayAfterHealing",
    h.last_success_at as "lastSuccessAt", h.last_failure_at as "lastFailureAt",
    coalesce(h.exhausted_in_a_row, 0) as "exhaustedInARow",
    case when w.deactivated_reason = 'failing' then (
      select min(due_at) from pending_deliveries where webhook_id = w.id and trigger = 'probe'
    ) end as "nextProbeAt",
    case when w.previous_secret_expires_at > now() then w.previous_secret_expires_at end as "previousSecretExpiresAt",
    coalesce(w.own_header_names, '{}') as "headerNames", w.created_at as "createdAt", w.updated_at as "updatedAt"
`;
const selectWebhooks = sql`
  select ${columns} from webhooks w ${healthJoins}
`;

/** `0023_chat_formats.sql`: processes without it send the event itself to the channel's origin. */
const chatMigration = 23;

export type WebhookInput = {
  url: string;
  format?: WebhookFormat | undefined;
  events?: string[] | null | undefined;
  filters?: Filters | null | undefined;
  description?: string | null | undefined;
  headers?: OwnHeaders | null | undefined;
};

/**
 * Registers a webhook and returns it with its secret; no other call returns it. Throws `validation_failed`, `conflict`,
 * `suspended`.
 */
export async function createWebhook(
  tx: Transaction,
  actor: Actor,
  appId: string,
  input: WebhookInput,
  guard: GuardOptions,
  { secretBox, serviceName }: HeaderOptions,
): Promise<CreatedWebhook> {
  const { format = 'json' } = input;
  const requestIssues = checkRequest(format, input, guard, serviceName);
  const eventIssues = input.events ? await checkEvents(tx, appId, input.events) : [];
  const { filters, filterPath, filterIssues } = await readFilters(tx, appId, input.filters);
  const issues = [...requestIssues, ...eventIssues, ...filterIssues];
  if (issues.length > 0) throw invalid(...issues);
  await enforceWebhookLimit(tx, appId);
  if (format !== 'json') await requireProcessesSince(tx, chatMigration, 'chat channels');
  await requireOtherUrl(tx, appId, input.url, secretBox);
  const id = uuidv7();
  const secret = generateSecret();
  const own = await sealOwnHeaders(tx, { id, url: input.url }, input.headers ?? null, secretBox);
  const { rows } = await sql<{ createdAt: Date }>`
    insert into webhooks (id, app_id, url, format, sealed_url, self_healing, description, events, filters, filter_path,
      secret, own_headers, own_header_names)
    values (${id}, ${appId}, ${format === 'json' ? input.url : maskUrl(input.url)}, ${format},
      ${format === 'json' ? null : secretBox.seal(input.url, urlOwner(id))}, ${format === 'json'},
      ${input.description ?? null}, ${distinct(input.events)}::text[], ${filters}::json, ${filterPath}::jsonpath,
      ${secretBox.seal(secret, id)}, ${own.sealed}, ${own.names}::text[])
    returning created_at as "createdAt"
  `.execute(tx);
  const [row] = rows;
  if (!row) throw new Error('the new webhook returned nothing');
  const webhook = toNewWebhook(input, { id, secret, ...row });
  await recordAudit(tx, actor, {
    action: 'webhook.created',
    subject: { kind: 'webhook', id },
    appId,
    details: { host: urlHost(webhook.url), events: webhook.events },
  });
  return webhook;
}

/** A webhook as it is when it is created: a repeated creation returns the same, whatever has changed since. */
export function toNewWebhook(
  { url, format = 'json', description = null, events, filters, headers }: WebhookInput,
  { id, createdAt, secret }: { id: string; createdAt: Date; secret: string },
): CreatedWebhook {
  return {
    id,
    url: format === 'json' ? url : maskUrl(url),
    format,
    description,
    events: distinct(events),
    filters: withoutNone(filters),
    active: true,
    health: 'new',
    deactivatedAt: null,
    deactivatedReason: null,
    suspendedAt: null,
    suspendedReason: null,
    selfHealing: format === 'json',
    replayAfterHealing: false,
    lastSuccessAt: null,
    lastFailureAt: null,
    exhaustedInARow: 0,
    nextProbeAt: null,
    previousSecretExpiresAt: null,
    headerNames: Object.keys(headers ?? {}),
    createdAt: createdAt.toISOString(),
    updatedAt: createdAt.toISOString(),
    secret,
  };
}

/** Filters of no event are none. */
export function withoutNone(filters: Filters | null | undefined): Filters | null {
  return filters && Object.keys(filters).length > 0 ? filters : null;
}

/** A set of names: a name that is listed twice counts once. */
export function distinct(events: string[] | null | undefined): string[] | null {
  return events ? [...new Set(events)] : null;
}

async function enforceWebhookLimit(tx: Transaction, appId: string): Promise<void> {
  // Prevents two simultaneous requests from both adding the last webhook.
  await lockApp(tx, appId);
  // A key that was admitted just before would leave the suspended app an active webhook.
  await requireNotSuspended(tx, 'app', appId, null);
  await enforceQuota(tx, appId, 'webhooks');
}

/**
 * A webhook with the URL of a suspended one would undo the suspension. Another query is the same URL. Throws `suspended`.
 */
export async function requireOtherUrl(
  tx: Transaction,
  appId: string,
  url: string,
  secretBox: SecretBox,
): Promise<void> {
  const { rows } = await sql<Suspension & { id: string; url: string; sealedUrl: Buffer | null }>`
    select w.id, w.url, w.sealed_url as "sealedUrl", s."suspendedAt", s."suspendedReason"
    from webhooks w join lateral ${suspensionOf('webhook', sql`w.id`)} s on true where w.app_id = ${appId}
  `.execute(tx);
  refuseSuspended(
    'webhook',
    rows.find((row) => receiverOf(wholeUrl(row, secretBox)) === receiverOf(url)) ?? null,
  );
}

/** The URL that is called. If that of a chat channel cannot be decrypted, its masked text. */
export function wholeUrl(
  { id, url, sealedUrl }: { id: string; url: string; sealedUrl: Buffer | null },
  secretBox: SecretBox,
): string {
  return (sealedUrl && secretBox.tryOpen(sealedUrl, urlOwner(id))) ?? url;
}

/** Without the query. A webhook of Discord has several hosts, and a path for each version of its API. */
function receiverOf(url: string): string {
  const { protocol, hostname, port, pathname } = new URL(url);
  const host = normaliseHost(hostname);
  const isDiscord = platforms.discord.host.test(host);
  if (isDiscord) return pathname.replace(/^\/api\/v\d+\//, '/api/');
  return `${protocol}//${host}:${port}${pathname}`;
}

/** Checks a list of events: names that do not exist, or that the app's binding does not allow. */
export async function checkEvents(
  executor: Executor,
  appId: string,
  names: string[],
  placeOf = (index: number) => `body.events.${index}`,
): Promise<Issue[]> {
  const { rows } = await sql<{ org_id: string | null; alliance_id: string | null }>`
    select org_id, alliance_id from bindings where app_id = ${appId}
  `.execute(executor);
  const allowed = {
    organization: Boolean(rows[0]?.org_id),
    alliance: Boolean(rows[0]?.alliance_id),
    global: true,
    webhook: false,
  };
  return names.flatMap((name, index) => {
    const path = placeOf(index);
    const entry = catalogueEntry(name);
    if (!entry || entry.audience === 'webhook') {
      return [
        {
          path,
          message: `must be one of ${subscribableEvents.join(', ')}, not ${JSON.stringify(name.slice(0, 80))}`,
        },
      ];
    }
    if (allowed[entry.audience]) return [];
    return [
      {
        path,
        message: `${name} is sent only to apps that are bound to an ${entry.audience}, and this app is not`,
      },
    ];
  });
}

/** `0021_filters.sql`: processes without it send events that do not match. */
const filtersMigration = 21;
type ReadFilters = { filters: string | null; filterPath: string | null; filterIssues: Issue[] };

/** As they are stored. Names of events that the app may not have are issues. Throws `conflict` during an upgrade. */
export async function readFilters(
  executor: Executor,
  appId: string,
  filters: Filters | null | undefined,
): Promise<ReadFilters> {
  const names = Object.keys(filters ?? {});
  if (names.length === 0) return { filters: null, filterPath: null, filterIssues: [] };
  await requireProcessesSince(executor, filtersMigration, 'filters');
  const placeOf = (index: number) => `body.filters.${names[index]}`;
  const unknown = await checkEvents(executor, appId, names, placeOf);
  if (unknown.length > 0)
    return { filters: null, filterPath: null, filterIssues: unknown.slice(0, issuesMax) };
  const { path, issues } = compileFilters(filters ?? {}, 'body.filters');
  return { filters: JSON.stringify(filters), filterPath: path, filterIssues: issues };
}

/** Returns one page of an app's webhooks, oldest first, and the total. */
export async function listWebhooks(
  database: Database,
  appId: string,
  query: { page: number; limit: number },
) {
  const { rows } = await sql<{ total: number } & LeftJoined<WebhookRow>>`
    select totals.total, page.* from (select count(*) as total from webhooks where app_id = ${appId}) totals
    left join lateral (
      ${selectWebhooks} where w.app_id = ${appId}
      order by w.id limit ${query.limit} offset ${(query.page - 1) * query.limit}
    ) page on true
    order by page.id
  `.execute(database);
  const { entries, total } = pageOf<WebhookRow>(rows);
  return { total, webhooks: entries.map((row) => withTextTimes(row)) };
}

export type MemberWebhook = { appId: string; role: AppRole; webhook: Webhook };

/**
 * Returns webhooks of all apps of which a user is a member now, those after `last`, with the user's role, which the same
 * statement reads.
 */
export async function listMemberWebhooks(
  database: Database,
  userId: string,
  last: MemberWebhook | null,
  limit: number,
): Promise<MemberWebhook[]> {
  const { rows } = await sql<WebhookRow & { appId: string; role: AppRole }>`
    select m.app_id as "appId", m.role, ${columns}
    from users u join app_members m on m.email = u.email join webhooks w on w.app_id = m.app_id
    ${healthJoins}
    where u.id = ${userId} and ${last ? sql`(m.app_id, w.id) > (${last.appId}, ${last.webhook.id})` : sql`true`}
    order by m.app_id, w.id limit ${limit}
  `.execute(database);
  return rows.map(({ appId, role, ...row }) => ({ appId, role, webhook: withTextTimes(row) }));
}

/** Returns one of an app's webhooks. Throws `not_found`. */
export async function readWebhook(executor: Executor, appId: string, id: string): Promise<Webhook> {
  const { rows } = await sql<WebhookRow>`
    ${selectWebhooks} where w.id = ${id} and w.app_id = ${appId}
  `.execute(executor);
  const [row] = rows;
  if (!row) throw new ServiceError('not_found');
  return withTextTimes(row);
}

/** What a request of a webhook is made of. */
export type SendingWebhook = Pick<
  Deliverable,
  'url' | 'secret' | 'previousSecret' | 'ownHeaders'
> & { id: string; format: WebhookFormat; sealedUrl: Buffer | null };

/** Checks that the app has this webhook, and returns what its requests need. Throws `not_found`. */
export async function requireWebhook(
  executor: Executor,
  appId: string,
  id: string,
): Promise<SendingWebhook> {
  const { rows } = await sql<SendingWebhook>`
    select id, url, format, sealed_url as "sealedUrl", secret,
      case when previous_secret_expires_at > now() then previous_secret end as "previousSecret", own_headers as "ownHeaders"
    from webhooks where id = ${id} and app_id = ${appId}
  `.execute(executor);
  const [row] = rows;
  if (!row) throw new ServiceError('not_found');
  return row;
}

export async function listWebhookIds(executor: Executor, appId: string): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from webhooks where app_id = ${appId}
  `.execute(executor);
  return rows.map(({ id }) => id);
}

/** Deletes a webhook and cancels its pending deliveries. Throws `not_found`, `suspended`. */
export async function deleteWebhook(
  tx: Transaction,
  actor: Actor,
  appId: string,
  id: string,
): Promise<void> {
  const { rows } = await sql<{ url: string }>`
    select url from webhooks where id = ${id} and app_id = ${appId} for update
  `.execute(tx);
  const [row] = rows;
  if (!row) throw new ServiceError('not_found');
  await requireNotSuspended(tx, 'webhook', id, appId);
  await sql`delete from webhooks where id = ${id}`.execute(tx);
  await recordAudit(tx, actor, {
    action: 'webhook.deleted',
    subject: { kind: 'webhook', id },
    appId,
    details: { host: urlHost(row.url) },
  });
  await cancelPending(tx, [id], 'deletion');
}

/** Checks that a test may name this event: one that the app may have. Throws `validation_failed`. */
export async function requireSampleEvent(
  executor: Executor,
  appId: string,
  name: string,
): Promise<{ event: EventName; data: unknown }> {
  const [issue] = await checkEvents(executor, appId, [name]);
  if (issue) throw invalid({ path: 'body.event', message: issue.message });
  return { event: name as EventName, data: catalogue[name as EventName].sample };
}
