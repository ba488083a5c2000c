/** What the portal's server side shows a signed-in developer, beside what the public API has too. */
import { Type, type Static } from 'typebox';
import { scopes } from './key-scopes.ts';
import { nullable, slug, strictObject, time, uuid } from './shapes.ts';

const appId = uuid({ description: 'Of the app.' });
const keyId = uuid({ description: 'Of the key.' });
const text = (description: string, example: string) =>
  Type.String({ description, examples: [example] });
const count = (description: string) => Type.Integer({ minimum: 0, description });

/** Something is in it besides spaces. */
export const name = (description: string, example: string) =>
  Type.String({ minLength: 1, maxLength: 100, pattern: '\\S', description, examples: [example] });

export const PortalSession = strictObject(
  {
    id: uuid({ description: 'Of the session.' }),
    user: strictObject(
      {
        id: uuid({ description: 'Of the user.' }),
        name: text('What they are called.', 'Ada'),
        email: text(
          'Their address; ending in `.invalid`: what a provider calls them that does not vouch for an address.',
          'ada@example.org',
        ),
        image: nullable(text('The address of a picture.', 'https://example.org/ada.png')),
      },
      { title: 'PortalUser', description: 'Whoever is signed in.' },
    ),
    expiresAt: time({ description: 'When the session ends, unless it is used before.' }),
  },
  { title: 'PortalSession', description: 'Who is signed in, and until when.' },
);

export const SignInOptions = strictObject(
  {
    password: strictObject(
      {
        signUp: Type.Boolean({
          description: 'Whether accounts can be made, and passwords be replaced, by a link.',
        }),
        links: nullable(
          Type.Enum(['mail', 'terminal'], {
            type: 'string',
            description:
              'Where such a link goes: to the address, or onto the terminal of the service; null: there is none.',
          }),
        ),
        lengthMin: Type.Integer({ description: 'The fewest characters of a password.' }),
        lengthMax: Type.Integer({ description: 'The most characters of a password.' }),
      },
      { description: 'Signing in with an address and a password.' },
    ),
    providers: Type.Array(
      strictObject(
        { id: text('What to call it in requests.', 'oidc'), name: text('For people.', 'GitHub') },
        { title: 'SignInProvider', description: 'Somewhere else to sign in with.' },
      ),
      { description: 'Where else one may come from.' },
    ),
  },
  { title: 'SignInOptions', description: 'In what ways one can sign in here.' },
);

const kind = Type.Enum(['organization', 'alliance'], {
  type: 'string',
  description: 'What it is.',
});
const subjectSlug = slug({ description: 'Its name in addresses.' });

export const PortalBinding = strictObject(
  {
    kind,
    id: uuid({ description: 'Of the organisation or alliance.' }),
    slug: subjectSlug,
    name: text('Its name.', 'Acme Corporation'),
  },
  { title: 'PortalBinding', description: 'Whose internal events an app may have.' },
);

export const PortalApp = strictObject(
  {
    id: appId,
    name: text('What its owner calls it.', 'Announcer'),
    binding: nullable(PortalBinding),
    keyCount: count('Keys that are valid; those that have ended are not counted.'),
    webhookCount: count('Webhooks, active or not.'),
    createdAt: time({ description: 'When it was made.' }),
  },
  { title: 'PortalApp', description: 'What keys and webhooks belong to.' },
);
export type PortalApp = Static<typeof PortalApp>;

export const Bindable = strictObject(
  {
    kind,
    id: uuid({ description: 'Of the organisation or alliance.' }),
    slug: subjectSlug,
    name: text('Its name.', 'Acme Corporation'),
    available: Type.Boolean({ description: 'Whether you may bind an app to it.' }),
    reason: nullable(text('Why you may not.', 'You are not a manager of it.')),
  },
  { title: 'Bindable', description: 'An organisation or alliance that an app could be bound to.' },
);
export type Bindable = Static<typeof Bindable>;

const keyFields = {
  id: keyId,
  name: text('What its owner calls it.', 'On the server'),
  last4: text('Its last four characters.', 'x7Qa'),
  scopes: Type.Array(Type.Enum([...scopes], { type: 'string' }), {
    description: 'What it may do.',
  }),
  expiresAt: nullable(time({ description: 'When it ends by itself; null: never.' })),
  revokedAt: nullable(time({ description: 'When it was revoked.' })),
  lastUsedAt: nullable(time({ description: 'When it was last used, at most a minute late.' })),
  createdAt: time({ description: 'When it was made.' }),
};
export const PortalKey = strictObject(keyFields, {
  title: 'PortalKey',
  description: 'A key of an app, without the key itself.',
});
export type PortalKey = Static<typeof PortalKey>;

const key = text('The key itself, shown this once.', `odk_${'0'.repeat(38)}`);
export const CreatedKey = strictObject(
  { ...keyFields, key },
  { title: 'CreatedKey', description: 'A new key.' },
);
export const RotatedKey = strictObject(
  {
    ...keyFields,
    key,
    previous: strictObject(
      { id: keyId, endsAt: time({ description: 'Until when it still opens something.' }) },
      { description: 'The key that it takes the place of.' },
    ),
  },
  { title: 'RotatedKey', description: 'A new key in the place of an old one.' },
);

const eventFields = {
  event: text('Its name.', 'org.created'),
  description: text('What it tells.', 'An organisation can be seen for the first time.'),
  schema: Type.Object(
    {},
    { additionalProperties: true, description: 'The JSON Schema of its `data`.' },
  ),
  sample: Type.Unknown({ description: 'A made-up `data`.' }),
};

export const CatalogueEvent = strictObject(
  {
    ...eventFields,
    audience: Type.Enum(['global', 'organization', 'alliance', 'webhook'], {
      type: 'string',
      description:
        'Who may have it: every app, those bound to the organisation or alliance, or the one webhook that is tested.',
    }),
  },
  { title: 'CatalogueEvent', description: 'An event that can be delivered.' },
);

export const PortalEvent = strictObject(
  {
    ...eventFields,
    audience: Type.Enum(['global', 'organization', 'alliance'], {
      type: 'string',
      description: 'Who may have it: every app, or those bound to the organisation or alliance.',
    }),
    allowed: Type.Boolean({ description: 'Whether this app may have it now.' }),
    reason: nullable(text('Why it may not.', 'event.created goes only to bound apps')),
  },
  { title: 'PortalEvent', description: 'An event of the catalogue.' },
);

const latency = (description: string) =>
  nullable(Type.Integer({ minimum: 0, description: `${description} Null: nothing was answered.` }));
const appName = text('What the app is called.', 'Announcer');

export const Overview = strictObject(
  {
    maintenance: nullable(
      strictObject(
        {
          message: nullable(text('What the operator says of it.', 'Moving.')),
          since: time({ description: 'When it began.' }),
          expectedEnd: nullable(time({ description: 'When it is expected to end.' })),
        },
        {
          title: 'PortalMaintenance',
          description: 'A maintenance that is on; apps and what is theirs cannot be changed.',
        },
      ),
    ),
    webhooks: Type.Array(
      strictObject(
        {
          appId,
          appName,
          webhookId: uuid({ description: 'Of the webhook.' }),
          host: text('Where it leads.', 'example.org'),
          state: Type.Enum(['failing', 'deactivated'], {
            type: 'string',
            description: 'failing: its last deliveries failed, and it is still active.',
          }),
          reason: nullable(
            Type.Enum(['failing', 'gone', 'owner'], {
              type: 'string',
              description: 'Why it was deactivated.',
            }),
          ),
          since: nullable(time({ description: 'When it was deactivated.' })),
          exhaustedInARow: count('Deliveries that failed for good since the last success.'),
        },
        { title: 'TroubledWebhook', description: 'A webhook that needs its owner.' },
      ),
      { description: 'Webhooks that fail or were deactivated.' },
    ),
    keys: Type.Array(
      strictObject(
        {
          appId,
          appName,
          keyId,
          name: text('What its owner calls it.', 'On the server'),
          last4: text('Its last four characters.', 'x7Qa'),
          expiresAt: time({ description: 'When it ends.' }),
        },
        { title: 'ExpiringKey', description: 'A key that ends soon.' },
      ),
      { description: 'Keys that end within 14 days, the first one first.' },
    ),
    deliveries: strictObject(
      {
        complete: Type.Boolean({
          description: 'False where there were so many that only the newest are counted.',
        }),
        hours: Type.Array(
          strictObject(
            {
              start: time({ description: 'When the hour began.' }),
              succeeded: count('Deliveries of this hour that succeeded.'),
              failed: count('Those that failed for good.'),
              pending: count('Those that wait for an attempt.'),
              latencyP50Ms: latency('Half of those that succeeded were answered within this.'),
              latencyP95Ms: latency('Nineteen of twenty were answered within this.'),
            },
            { title: 'DeliveryHour', description: 'One hour of deliveries.' },
          ),
          { description: 'The last 24 hours by when deliveries were queued, oldest first.' },
        ),
      },
      { description: 'What became of the deliveries of the last 24 hours; tests are left out.' },
    ),
  },
  { title: 'Overview', description: 'How your apps are doing.' },
);
export type Overview = Static<typeof Overview>;

export const PortalAuditEntry = strictObject(
  {
    id: Type.Integer({ description: 'Counts up.' }),
    at: time({ description: 'When it was done.' }),
    actor: strictObject(
      {
        kind: Type.Enum(['key', 'user', 'cli', 'system'], {
          type: 'string',
          description:
            'key: over the API. user: in the portal. cli: whoever runs the service. system: the service itself.',
        }),
        name: nullable(
          text('The key of this app, or yourself; null: somebody who is not yours to see.', 'Ada'),
        ),
      },
      { description: 'Who did it.' },
    ),
    action: text('What was done.', 'key.created'),
    appId,
    appName: text('The name of the app, or the last name of a deleted app.', 'Announcer'),
    appDeleted: Type.Boolean({ description: 'Whether the app was deleted since.' }),
    subject: strictObject(
      {
        kind: text('To what.', 'key'),
        id: nullable(text('Its identifier.', '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f')),
        name: nullable(
          text(
            'The name of the app or key, or the host of the webhook, at that time; null for anything else.',
            'On the server',
          ),
        ),
      },
      { description: 'What it was done to.' },
    ),
    details: Type.Object({}, { additionalProperties: true, description: 'What more is known.' }),
  },
  { title: 'PortalAuditEntry', description: 'One change of an app, or of what belongs to it.' },
);
export type PortalAuditEntry = Static<typeof PortalAuditEntry>;
