/** What operators see in their console. Of the URL of a webhook only the host. */
import { Type, type Static } from 'typebox';
import { announcementCharsMax, severities } from './announcement.ts';
import { scopes } from './app-roles.ts';
import { PortalAuditEntry } from './portal.ts';
import { PortalDelivery } from './portal-deliveries.ts';
import { quotaNames, quotasMax } from './quotas.ts';
import {
  nullable,
  plainText,
  state,
  strictObject,
  suspensionFields,
  time,
  uuid,
  enumOf,
  count,
  boolean,
  text,
} from './shapes.ts';
import { Announcement } from './status.ts';
import { reasonCharsMax } from './console.ts';
import { Delivery, webhookHealths } from './webhook.ts';
import { webhookFormats } from './delivery-rules.ts';

const appId = uuid({ description: 'The id of the app.' });
const appName = text('The name of the app.', 'Announcer');

const UsedOnDay = strictObject(
  { requests: count('Requests with a key.'), errors: count('Those that failed.') },
  { title: 'UsedOnDay', description: 'Requests of one day (UTC).' },
);

export const OperatorOverview = strictObject(
  {
    today: UsedOnDay,
    yesterday: UsedOnDay,
    responses: strictObject(
      {
        count: count('Requests of all kinds that this process has answered.'),
        p50Ms: nullable(
          count(
            'At most this many ms to the median response. Null: longer than is counted, or none.',
          ),
        ),
        p99Ms: nullable(count('The same for the 99th percentile.')),
      },
      {
        title: 'OperatorResponses',
        description: 'How quickly the process that answers has answered since its start.',
      },
    ),
    deliveries: strictObject(
      {
        successShare: nullable(
          Type.Number({
            description: 'The share that succeeded in the last 24 hours. Null if none ended.',
          }),
        ),
        delayP50Ms: nullable(count('The median time from queuing to the response, in ms.')),
        delayP95Ms: nullable(count('The 95th percentile of it.')),
      },
      { title: 'OperatorDeliveries', description: 'How deliveries went.' },
    ),
    queue: strictObject(
      {
        due: count('Deliveries that are due; counting stops at 10,000.'),
        oldestDueSeconds: Type.Number({
          description: 'How long the oldest one waits that waits for no receiver, in seconds.',
        }),
        eventsWaiting: count('Events that are not distributed yet; counting stops at 10,000.'),
        oldestEventSeconds: Type.Number({ description: 'How long the oldest one waits.' }),
        setAside: count('Rows that were set aside, and events that were rejected.'),
      },
      { title: 'OperatorQueue', description: 'What waits.' },
    ),
    webhooks: Type.Record(Type.String(), count('The number of webhooks.'), {
      description: 'How many webhooks have each `health`.',
    }),
    receivers: Type.Array(
      strictObject(
        {
          host: text('The host and port of the URLs.', 'hooks.example.org'),
          webhooks: count('How many webhooks of the host do not work.'),
          apps: count('Of how many apps.'),
        },
        { title: 'TroubledReceiver', description: 'A host whose webhooks do not work.' },
      ),
      { description: 'Hosts with the most webhooks that are deactivated, failing or retrying.' },
    ),
  },
  { title: 'OperatorOverview', description: 'The state of the installation.' },
);
export type OperatorOverview = Static<typeof OperatorOverview>;

export const OperatorApp = strictObject(
  {
    id: appId,
    name: appName,
    owners: Type.Array(text('An address.', 'ada@example.org'), {
      description: 'The addresses of the owners.',
    }),
    keyCount: count('The number of valid keys, without temporary ones.'),
    webhookCount: count('The number of webhooks, active or not.'),
    ...suspensionFields('the app'),
    createdAt: time({ description: 'When the app was created.' }),
  },
  { title: 'OperatorApp', description: 'An app of anybody.' },
);
export type OperatorApp = Static<typeof OperatorApp>;

export const OperatorAccount = strictObject(
  {
    id: uuid({ description: 'The id of the account.' }),
    email: text('The address, or the name that a provider gives.', 'ada@example.org'),
    name: text('The name.', 'Ada'),
    sessionCount: count('How many sessions are open.'),
    hasSecondFactor: boolean('Whether it has a second factor.'),
    ...suspensionFields('the account'),
    createdAt: time({ description: 'When the account was created.' }),
  },
  { title: 'OperatorAccount', description: 'An account of anybody.' },
);
export type OperatorAccount = Static<typeof OperatorAccount>;

export const webhookHealth = enumOf([...webhookHealths], 'As `health` of a webhook.');

export const OperatorWebhook = strictObject(
  {
    id: uuid({ description: 'The id of the webhook.' }),
    appId,
    appName,
    host: text('The host and port of the URL.', 'hooks.example.org'),
    format: enumOf(
      [...webhookFormats],
      'What is sent. The URL of a chat channel is shown to nobody.',
    ),
    health: webhookHealth,
    suspended: nullable(
      enumOf(
        ['webhook', 'app'],
        'What is suspended: the webhook itself, or else its app, which is what to restore then.',
      ),
    ),
    reason: nullable(
      text('Why it was deactivated, or what the operator wrote about a suspension.', 'failing'),
    ),
    since: nullable(time({ description: 'When it was deactivated or suspended.' })),
    exhaustedInARow: count('Consecutive deliveries that failed after all attempts.'),
  },
  { title: 'OperatorWebhook', description: 'A webhook of anybody.' },
);
export type OperatorWebhook = Static<typeof OperatorWebhook>;

export const ChangedSuspension = strictObject(
  {
    id: uuid({ description: 'The id of what was suspended or restored.' }),
    changed: boolean('False if it was like that already.'),
    cancelled: nullable(count('Pending deliveries that were cancelled. Null: it has none.')),
    mailed: count('How many owners get a mail, if the service sends any.'),
  },
  { title: 'ChangedSuspension', description: 'What a suspension or its end has changed.' },
);

export const OperatorSetting = strictObject(
  {
    name: text('The name of the environment variable.', 'RETENTION_DAYS'),
    value: nullable(
      text(
        'The value in this process. Null: not set. Of a secret only that it is set, and of an address that may have a password only the host, or that it is set.',
        '30',
      ),
    ),
    isDefault: boolean('Whether it is the default.'),
  },
  { title: 'OperatorSetting', description: 'A setting in force.' },
);
export type OperatorSetting = Static<typeof OperatorSetting>;

export const OperatorCheck = strictObject(
  {
    check: text('What was checked.', 'replicas'),
    status: state(['ok', 'warning', 'failed', 'skipped'], 'How it is.'),
    message: text('What was found.', 'one worker runs'),
    advice: nullable(text('How to mend it. Null: nothing to do.', 'start a worker')),
  },
  { title: 'OperatorCheck', description: 'A check of `orgdir doctor`.' },
);
export type OperatorCheck = Static<typeof OperatorCheck>;

export const OperatorKey = strictObject(
  {
    id: uuid({ description: 'The id of the key.' }),
    appId: nullable(uuid({ description: 'The id of its app. Null: a platform key.' })),
    appName: nullable(text('The name of its app.', 'Announcer')),
    name: text('The name of the key.', 'On the server'),
    last4: text('Its last four characters.', '0000'),
    scopes: Type.Array(enumOf([...scopes, 'platform'], 'A scope.'), {
      description: 'What it may do. `platform`: the whole internal API.',
    }),
    expiresAt: nullable(time({ description: 'When it expires. Null: never.' })),
    revokedAt: nullable(time({ description: 'When it was revoked.' })),
    ...suspensionFields('the key'),
    appSuspended: boolean('Whether its app is suspended, which refuses the key too.'),
    lastUsedAt: nullable(time({ description: 'When it was last used.' })),
    usesToday: count('Requests since midnight UTC.'),
    createdAt: time({ description: 'When it was created.' }),
  },
  { title: 'OperatorKey', description: 'A key of anybody.' },
);
export type OperatorKey = Static<typeof OperatorKey>;

export const OperatorDelivery = strictObject(
  {
    ...Delivery.properties,
    appId: nullable(uuid({ description: 'The id of the app. Null: the webhook was deleted.' })),
    appName: nullable(appName),
    host: nullable(text('The host and port of the URL.', 'hooks.example.org')),
    lastAttempt: PortalDelivery.properties.lastAttempt,
  },
  { title: 'OperatorDelivery', description: 'A delivery of anybody, without what was sent.' },
);

export const Reason = strictObject(
  {
    reason: Type.String({
      ...plainText,
      minLength: 1,
      maxLength: reasonCharsMax,
      description: 'Why. The audit log keeps it.',
      examples: ['Its owner asks why nothing arrives.'],
    }),
  },
  {
    title: 'ReasonToSee',
    description: 'Why somebody has to see it.',
    examples: [{ reason: 'Its owner asks why nothing arrives.' }],
  },
);
export const RevealedUrl = strictObject(
  { url: text('The URL that deliveries are sent to.', 'https://hooks.example.org/in') },
  { title: 'RevealedUrl', description: 'The whole URL of a webhook.' },
);

export const RefusedRow = strictObject(
  {
    id: uuid({ description: 'The id of the row.' }),
    stage: text('What the worker was doing.', 'record'),
    event: nullable(text('The name of the event, if the row is of one.', 'org.created')),
    org: nullable(text('The slug of its organisation.', 'acme-corporation')),
    alliance: nullable(text('The slug of its alliance.', 'northern-league')),
    createdAt: nullable(time({ description: 'When the row was written.' })),
    rejectedAt: time({ description: 'When it was refused.' }),
    code: nullable(text("PostgreSQL's code of the error, if it refused the row.", '22P02')),
    reason: text('Why.', 'invalid input syntax for type uuid'),
    eventId: nullable(uuid({ description: 'The id of the event.' })),
    deliveryId: nullable(uuid({ description: 'The id of the delivery.' })),
    webhookId: nullable(uuid({ description: 'The id of the webhook.' })),
  },
  { title: 'RefusedRow', description: 'An event that was rejected, or a row that was set aside.' },
);

/** How many rows a request names. */
const refusedIdsMax = 100;
export const RefusedChange = strictObject(
  {
    ids: Type.Array(uuid(), {
      minItems: 1,
      maxItems: refusedIdsMax,
      uniqueItems: true,
      description: 'The ids of the rows.',
    }),
  },
  {
    title: 'RefusedChange',
    description: 'Which rows.',
    examples: [{ ids: ['0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f'] }],
  },
);
export const ChangedRows = strictObject(
  { count: count('How many rows.') },
  { title: 'ChangedRows', description: 'How many rows have changed.' },
);

export const OperatorQuota = strictObject(
  {
    quota: enumOf(quotaNames, 'What is limited. `rate`: requests per minute.'),
    limit: nullable(count('The limit in force. Null: the usual rates.')),
    isDefault: boolean('Whether it is the default.'),
    used: nullable(count('How many the app has. Null for `rate`.')),
  },
  { title: 'OperatorQuota', description: 'A quota of an app.' },
);
export type OperatorQuota = Static<typeof OperatorQuota>;

export const QuotaChanges = strictObject(
  Object.fromEntries(
    quotaNames.map((quota) => [
      quota,
      Type.Optional(
        nullable(
          Type.Integer({
            minimum: 1,
            maximum: quotasMax[quota],
            description: 'The new limit. Null: the default.',
          }),
        ),
      ),
    ]),
  ),
  {
    title: 'QuotaChanges',
    description: 'The quotas to change. Omitted ones stay.',
    minProperties: 1,
    examples: [{ webhooks: 50, rate: null }],
  },
);

export const NewAnnouncement = strictObject(
  {
    severity: Type.Enum([...severities], {
      type: 'string',
      default: 'info',
      description: 'How serious it is.',
    }),
    text: Type.String({
      ...plainText,
      minLength: 1,
      maxLength: announcementCharsMax,
      description: 'What is announced, on one line.',
      examples: ['The directory moves to a larger machine.'],
    }),
    startsAt: Type.Optional(Announcement.properties.startsAt),
    endsAt: Type.Optional(Announcement.properties.endsAt),
    mail: Type.Boolean({
      default: false,
      description: 'Whether owners of apps who want it get a mail.',
    }),
  },
  {
    title: 'NewAnnouncement',
    description: 'An announcement to all developers.',
    examples: [{ text: 'The directory moves to a larger machine.', mail: true }],
  },
);
export const MadeAnnouncement = strictObject(
  {
    id: uuid({ description: 'The id of the announcement.' }),
    mails: count('How many owners get a mail.'),
  },
  { title: 'MadeAnnouncement', description: 'An announcement that is shown.' },
);

const { id, at, action, details } = PortalAuditEntry.properties;
export const OperatorAuditEntry = strictObject(
  {
    id,
    at,
    actor: strictObject(
      {
        kind: PortalAuditEntry.properties.actor.properties.kind,
        id: nullable(text('The id of the key or account.', '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f')),
        name: text(
          'Its name or address, the user of the machine, or the part of the service.',
          'ada@example.org',
        ),
      },
      { title: 'OperatorAuditActor', description: 'Who made the change.' },
    ),
    action,
    subject: strictObject(
      {
        kind: PortalAuditEntry.properties.subject.properties.kind,
        id: PortalAuditEntry.properties.subject.properties.id,
      },
      { title: 'OperatorAuditSubject', description: 'What was changed.' },
    ),
    appId: nullable(uuid({ description: 'The id of the app that it concerns.' })),
    details,
  },
  { title: 'OperatorAuditEntry', description: 'A change by anybody.' },
);
export type OperatorAuditEntry = Static<typeof OperatorAuditEntry>;
