/** What operators see in their console. Of the URL of a webhook only the host. */
import { Type, type Static } from 'typebox';
import { nullable, strictObject, suspensionFields, time, uuid } from './shapes.ts';
import { webhookHealths } from './webhook.ts';

const count = (description: string) => Type.Integer({ minimum: 0, description });
const text = (description: string, example: string) =>
  Type.String({ description, examples: [example] });
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
        setAside: count('Rows that were set aside.'),
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
    hasSecondFactor: Type.Boolean({ description: 'Whether it has a second factor.' }),
    ...suspensionFields('the account'),
    createdAt: time({ description: 'When the account was created.' }),
  },
  { title: 'OperatorAccount', description: 'An account of anybody.' },
);
export type OperatorAccount = Static<typeof OperatorAccount>;

export const webhookHealth = Type.Enum([...webhookHealths], {
  type: 'string',
  description: 'As `health` of a webhook.',
});

export const OperatorWebhook = strictObject(
  {
    id: uuid({ description: 'The id of the webhook.' }),
    appId,
    appName,
    host: text('The host and port of the URL.', 'hooks.example.org'),
    health: webhookHealth,
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
    changed: Type.Boolean({ description: 'False if it was like that already.' }),
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
    isDefault: Type.Boolean({ description: 'Whether it is the default.' }),
  },
  { title: 'OperatorSetting', description: 'A setting in force.' },
);
export type OperatorSetting = Static<typeof OperatorSetting>;
