/** The objects of the portal's server side that the public API does not have. */
import { Type, type Static } from 'typebox';
import { expiresSoonDays } from './periods.ts';
import { appRoles, scopes } from './app-roles.ts';
import { operatorRoles } from './console.ts';
import { LastError, PortalDelivery } from './portal-deliveries.ts';
import {
  nullable,
  slug,
  strictObject,
  suspensionFields,
  time,
  uuid,
  enumOf,
  count,
  boolean,
  text,
} from './shapes.ts';
import { Webhook } from './webhook.ts';

const appId = uuid({ description: 'The id of the app.' });
const keyId = uuid({ description: 'The id of the key.' });

export const PortalSession = strictObject(
  {
    id: uuid({ description: 'The id of the session.' }),
    user: strictObject(
      {
        id: uuid({ description: 'The id of the user.' }),
        name: text('The name of the user.', 'Ada'),
        email: text(
          'The email address of the user. Ends in `.invalid` if the provider has not verified an address.',
          'ada@example.org',
        ),
        image: nullable(text('The URL of a picture.', 'https://example.org/ada.png')),
      },
      { title: 'PortalUser', description: 'The user who is signed in.' },
    ),
    missingFactor: nullable(
      enumOf(
        ['confirm', 'set_up'],
        'The second factor that the session needs before it opens anything else: one to confirm, or one to set up. Null: none.',
      ),
    ),
    // Missing in responses of 1.0.0.
    operatorRole: Type.Optional(
      nullable(
        enumOf([...operatorRoles], 'What you may do in the console. Null: for you there is none.'),
      ),
    ),
    ...suspensionFields('the account'),
    expiresAt: time({ description: 'When the session expires if it is not used.' }),
  },
  { title: 'PortalSession', description: 'The session of the user who is signed in.' },
);

export const SignInOptions = strictObject(
  {
    password: strictObject(
      {
        signUp: boolean('Whether users can create accounts and reset passwords by link.'),
        links: nullable(
          enumOf(
            ['mail', 'terminal'],
            'Where links are sent: by mail, or to the terminal of the service. Null if there are no links.',
          ),
        ),
        lengthMin: Type.Integer({ description: 'The minimum length of a password.' }),
        lengthMax: Type.Integer({ description: 'The maximum length of a password.' }),
      },
      { description: 'Sign-in with an email address and a password.' },
    ),
    providers: Type.Array(
      strictObject(
        {
          id: text('The id of the provider.', 'oidc'),
          name: text('The display name of the provider.', 'GitHub'),
        },
        { title: 'SignInProvider', description: 'A sign-in provider.' },
      ),
      { description: 'The sign-in providers.' },
    ),
  },
  { title: 'SignInOptions', description: 'The available ways to sign in.' },
);

const kind = enumOf(['organization', 'alliance'], 'The kind of the object.');
const subjectSlug = slug({ description: 'The unique name in URLs.' });

export const PortalBinding = strictObject(
  {
    kind,
    id: uuid({ description: 'The id of the organisation or alliance.' }),
    slug: subjectSlug,
    name: text('The name of the organisation or alliance.', 'Acme Corporation'),
    boundBy: text(
      'The address of the owner who bound the app. The binding ends when they stop being an owner of the app or a manager of the organisation or alliance.',
      'ada@example.org',
    ),
  },
  {
    title: 'PortalBinding',
    description: 'The organisation or alliance whose internal events an app receives.',
  },
);

export const role = (description: string) => enumOf([...appRoles], description);

const limit = (description: string) => Type.Integer({ minimum: 1, description });

export const AppQuotas = strictObject(
  {
    webhooks: limit('How many webhooks the app can have.'),
    keys: limit('How many valid keys the app can have.'),
    members: limit('How many members the app can have.'),
    requestsPerMinute: nullable(
      limit(
        'How many requests per minute all keys of the app can make together, if the operator has set it. Null: the usual limits of keys and apps.',
      ),
    ),
  },
  { title: 'AppQuotas', description: 'How much the app may have and use.' },
);
export type AppQuotas = Static<typeof AppQuotas>;

export const PortalApp = strictObject(
  {
    id: appId,
    name: text('The name of the app.', 'Announcer'),
    role: role('Your role in the app.'),
    isLastOwner: boolean('Whether you are the only owner, and so cannot leave the app.'),
    failureMails: boolean('Whether you want mail about failing webhooks. Viewers get none.'),
    binding: nullable(PortalBinding),
    keyCount: count('The number of valid keys, without temporary ones.'),
    webhookCount: count('The number of webhooks, active or not.'),
    // Missing in responses of 1.0.0.
    quotas: Type.Optional(AppQuotas),
    ...suspensionFields('the app'),
    createdAt: time({ description: 'When the app was created.' }),
  },
  { title: 'PortalApp', description: 'An app, which owns keys and webhooks.' },
);
export type PortalApp = Static<typeof PortalApp>;

export const AppMember = strictObject(
  {
    id: uuid({ description: 'The id of the member.' }),
    email: text('The address of the member.', 'ada@example.org'),
    name: nullable(text('The name of the account. Null if there is no account yet.', 'Ada')),
    role: role('The role of the member.'),
    isYou: boolean('Whether you are this member.'),
    createdAt: time({ description: 'When the member was added.' }),
  },
  { title: 'AppMember', description: 'A member of an app.' },
);
export type AppMember = Static<typeof AppMember>;

const invitationFields = {
  id: uuid({ description: 'The id of the invitation.' }),
  email: text('The invited address.', 'grace@example.org'),
  role: role('The role that the invited person gets.'),
  invitedBy: text('The address of the owner who made the invitation.', 'ada@example.org'),
  createdAt: time({ description: 'When the invitation was created.' }),
  expiresAt: time({ description: 'When the invitation expires.' }),
};
export const AppInvitation = strictObject(invitationFields, {
  title: 'AppInvitation',
  description: 'An invitation to become a member of an app.',
});
export type AppInvitation = Static<typeof AppInvitation>;

const invitedTo = text('The name of the app.', 'Announcer');
export const OwnInvitation = strictObject(
  { ...invitationFields, appName: invitedTo },
  { title: 'OwnInvitation', description: 'An invitation to you.' },
);
export type OwnInvitation = Static<typeof OwnInvitation>;

export const InvitationLink = strictObject(
  { ...invitationFields, appName: invitedTo },
  { title: 'InvitationLink', description: 'The invitation of a mailed link.' },
);

export const Bindable = strictObject(
  {
    kind,
    id: uuid({ description: 'The id of the organisation or alliance.' }),
    slug: subjectSlug,
    name: text('The name of the organisation or alliance.', 'Acme Corporation'),
    available: boolean('Whether you can bind an app to it.'),
    reason: nullable(text('Why you cannot bind an app to it.', 'You are not a manager of it.')),
  },
  { title: 'Bindable', description: 'An organisation or alliance that apps can be bound to.' },
);
export type Bindable = Static<typeof Bindable>;

const keyFields = {
  id: keyId,
  name: text('The name of the key.', 'On the server'),
  last4: text('The last four characters of the key.', 'x7Qa'),
  scopes: Type.Array(Type.Enum([...scopes], { type: 'string' }), {
    description: 'The scopes of the key.',
  }),
  expiresAt: nullable(time({ description: 'When the key expires. Null if it does not expire.' })),
  revokedAt: nullable(time({ description: 'When the key was revoked.' })),
  ...suspensionFields('the key'),
  lastUsedAt: nullable(time({ description: 'When the key was last used, up to a minute late.' })),
  usesToday: count('The number of requests with the key since midnight UTC, up to a minute late.'),
  createdAt: time({ description: 'When the key was created.' }),
};
export const PortalKey = strictObject(keyFields, {
  title: 'PortalKey',
  description: 'A key of an app, without its value.',
});
export type PortalKey = Static<typeof PortalKey>;

const key = text('The value of the key. Only this response has it.', `odk_${'0'.repeat(38)}`);
export const CreatedKey = strictObject(
  { ...keyFields, key },
  { title: 'CreatedKey', description: 'A new key.' },
);
export const RotatedKey = strictObject(
  {
    ...keyFields,
    key,
    previous: strictObject(
      { id: keyId, endsAt: time({ description: 'When the previous key expires.' }) },
      { description: 'The key that was replaced.' },
    ),
  },
  { title: 'RotatedKey', description: 'A new key that replaces another.' },
);

const eventFields = {
  event: text('The name of the event.', 'org.created'),
  description: text('When the event occurs.', 'An organisation can be seen for the first time.'),
  optIn: boolean('Whether only webhooks that name the event get it.'),
  schema: Type.Object(
    {},
    { additionalProperties: true, description: 'The JSON Schema of its `data`.' },
  ),
  sample: Type.Unknown({ description: 'An example of its `data`.' }),
  message: strictObject(
    {
      title: Type.String({ description: 'What happened.' }),
      text: nullable(Type.String({ description: 'More about it.' })),
      fields: Type.Array(
        strictObject({
          name: Type.String({ description: 'The name of the field.' }),
          value: Type.String({ description: 'The value of the field.' }),
        }),
        { maxItems: 25, description: 'Details.' },
      ),
      url: nullable(Type.String({ description: 'A page about the subject.' })),
      color: enumOf(['good', 'info', 'warning', 'bad'], 'The kind of news, shown as a colour.'),
      time: time({ description: 'When it happened.' }),
    },
    { description: 'What a chat channel shows of the example.' },
  ),
};

export const CatalogueEvent = strictObject(
  {
    ...eventFields,
    audience: enumOf(
      ['global', 'organization', 'alliance', 'webhook'],
      'Who can receive the event: every app, apps bound to the organisation or alliance, or the webhook that is tested.',
    ),
  },
  { title: 'CatalogueEvent', description: 'An event that can be delivered.' },
);

export const PortalEvent = strictObject(
  {
    ...eventFields,
    audience: enumOf(
      ['global', 'organization', 'alliance'],
      'Who can receive the event: every app, or apps bound to the organisation or alliance.',
    ),
    allowed: boolean('Whether this app can receive the event.'),
    reason: nullable(
      text('Why the app cannot receive the event.', 'event.created is sent only to bound apps'),
    ),
  },
  { title: 'PortalEvent', description: 'An event of the catalogue.' },
);

const appName = text('The name of the app.', 'Announcer');

export const Overview = strictObject(
  {
    maintenance: nullable(
      strictObject(
        {
          message: nullable(text('A message from the operator.', 'Moving.')),
          since: time({ description: 'When the maintenance began.' }),
          expectedEnd: nullable(time({ description: 'When the maintenance is expected to end.' })),
        },
        {
          title: 'PortalMaintenance',
          description:
            'The current maintenance. Apps, keys and webhooks cannot be changed meanwhile.',
        },
      ),
    ),
    webhooks: Type.Array(
      strictObject(
        {
          appId,
          appName,
          webhookId: uuid({ description: 'The id of the webhook.' }),
          host: text("The host of the webhook's URL.", 'example.org'),
          // Optional fields are missing in responses of 1.0.0.
          url: Type.Optional(PortalDelivery.properties.webhook.properties.url),
          format: Webhook.properties.format,
          description: PortalDelivery.properties.webhook.properties.description,
          health: Type.Optional(
            enumOf(
              ['suspended', 'deactivated', 'failing', 'retrying'],
              'As `health` of a webhook.',
            ),
          ),
          state: enumOf(
            ['failing', 'deactivated', 'suspended'],
            'As `health`, but `failing` for `retrying`.',
          ),
          reason: nullable(
            enumOf(['failing', 'gone', 'owner'], 'Why the webhook was deactivated.'),
          ),
          since: nullable(time({ description: 'When the webhook was deactivated or suspended.' })),
          suspendedReason: suspensionFields('the webhook or its app').suspendedReason,
          failingSince: nullable(
            time({
              description:
                'When deliveries began to fail. Null if they did not fail: the owner deactivated it.',
            }),
          ),
          lastSuccessAt: Type.Optional(Webhook.properties.lastSuccessAt),
          lastError: nullable(LastError),
          unsent: count(
            'The number of deliveries queued since `unsentSince` that failed or were cancelled, without tests. The list has as many with `status=undelivered` and this `since`.',
          ),
          unsentSince: Type.Optional(
            nullable(
              time({
                description:
                  'The start of the hour in which the first of the deliveries was queued that have failed or were cancelled since the webhook last worked. Null if there are none.',
              }),
            ),
          ),
          exhaustedInARow: count('The number of failed deliveries since the last success.'),
        },
        { title: 'TroubledWebhook', description: 'A webhook that needs attention.' },
      ),
      {
        description:
          'Webhooks that are suspended, deactivated, failing or retrying, in this order, and then those that their owner deactivated.',
      },
    ),
    keys: Type.Array(
      strictObject(
        {
          appId,
          appName,
          keyId,
          name: text('The name of the key.', 'On the server'),
          last4: text('The last four characters of the key.', 'x7Qa'),
          expiresAt: time({ description: 'When the key expires.' }),
        },
        { title: 'ExpiringKey', description: 'A key that expires soon.' },
      ),
      { description: `Keys that expire within ${expiresSoonDays} days, soonest first.` },
    ),
  },
  { title: 'Overview', description: 'An overview of your apps.' },
);
export type Overview = Static<typeof Overview>;

export const actorKinds = ['key', 'user', 'operator', 'cli', 'system'] as const;

export const PortalAuditEntry = strictObject(
  {
    id: Type.Integer({ description: 'An increasing number.' }),
    at: time({ description: 'When the change was made.' }),
    actor: strictObject(
      {
        kind: enumOf(
          [...actorKinds],
          '`key`: over the API. `user`: in the portal. `operator`: in the console. `cli`: an operator on the command line. `system`: the service itself.',
        ),
        name: nullable(
          text(
            'The name of the key of this app, or the address of the member. Null for others.',
            'ada@example.org',
          ),
        ),
        isYou: boolean('Whether you made the change.'),
      },
      { description: 'Who made the change.' },
    ),
    action: text('The action.', 'key.created'),
    appId,
    appName: text('The name of the app, or its last name if it was deleted.', 'Announcer'),
    appDeleted: boolean('Whether the app has been deleted since.'),
    subject: strictObject(
      {
        kind: text('The kind of object.', 'key'),
        id: nullable(text('The id of the object.', '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f')),
        name: nullable(
          text(
            'The name of the app or key, the host of the webhook, or the address of the member or invited person, at that time. Null for other objects.',
            'On the server',
          ),
        ),
      },
      { description: 'The object that was changed.' },
    ),
    details: Type.Object({}, { additionalProperties: true, description: 'Details of the change.' }),
  },
  {
    title: 'PortalAuditEntry',
    description: 'A change to an app, or to its members, keys or webhooks.',
  },
);
export type PortalAuditEntry = Static<typeof PortalAuditEntry>;
