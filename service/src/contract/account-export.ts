/** The file with all data about a user. */
import { Type } from 'typebox';
import { AccountMethod, AccountPreferences, AccountSession } from './account.ts';
import { operatorRoles } from './console.ts';
import { OwnInvitation, PortalApp, PortalBinding, PortalKey } from './portal.ts';
import { SecondFactorState } from './second-factor.ts';
import { nullable, strictObject, time, uuid, enumOf } from './shapes.ts';
import { Webhook } from './webhook.ts';

const text = (description: string) => Type.String({ description });
const appId = uuid({ description: 'The id of the app.' });
const { kind, slug, name } = PortalBinding.properties;

const AuditEntry = strictObject(
  {
    id: Type.Integer({ description: 'An increasing number.' }),
    at: time({ description: 'When it happened.' }),
    action: text('The action.'),
    subject: strictObject(
      {
        kind: text('The kind of the object that was changed.'),
        id: nullable(text('The id of the object, if it has one.')),
      },
      { description: 'The object that was changed.' },
    ),
    appId: nullable(uuid({ description: 'The id of the app, if it is about one.' })),
    details: Type.Object({}, { additionalProperties: true, description: 'Details of the action.' }),
  },
  { title: 'ExportedAuditEntry', description: 'An entry of the audit log.' },
);

export const AccountExport = strictObject(
  {
    exportedAt: time({ description: 'When the export began.' }),
    account: strictObject(
      {
        id: uuid({ description: 'The id of the account.' }),
        name: text('Your name.'),
        email: text('The address of the account.'),
        image: nullable(text('The URL of a picture.')),
        createdAt: time({ description: 'When the account was created.' }),
        operatorRole: nullable(
          enumOf([...operatorRoles], 'Your role in the console, if you have one.'),
        ),
        ...AccountPreferences.properties,
      },
      { title: 'ExportedAccount', description: 'The account.' },
    ),
    methods: Type.Array(AccountMethod, {
      description: 'The ways to sign in, without secrets.',
    }),
    secondFactor: SecondFactorState,
    sessions: Type.Array(AccountSession, { description: 'The sessions, newest first.' }),
    apps: Type.Array(PortalApp, { description: 'The apps that you are a member of.' }),
    keys: Type.Array(
      strictObject(
        { appId, ...PortalKey.properties },
        { title: 'ExportedKey', description: 'A key of an app, without its value.' },
      ),
      { description: 'The keys of these apps.' },
    ),
    webhooks: Type.Array(
      strictObject(
        { appId, ...Webhook.properties },
        { title: 'ExportedWebhook', description: 'A webhook, without its secret.' },
      ),
      {
        description:
          'The webhooks of these apps. Of those of an app whose viewer you are, only the origin of the URL.',
      },
    ),
    invitations: Type.Array(OwnInvitation, { description: 'Invitations to you.' }),
    managed: Type.Array(
      strictObject(
        { kind, id: uuid({ description: 'The id of the object.' }), slug, name },
        { title: 'ManagedSubject', description: 'An organisation or alliance.' },
      ),
      { description: 'The organisations and alliances that you manage.' },
    ),
    activity: Type.Array(AuditEntry, {
      description: 'The entries about your account, newest first: sign-ins and changes.',
    }),
    changes: Type.Array(AuditEntry, {
      description:
        'Your changes to everything else in the portal, newest first. What an operator does in the console is about others, and left out.',
    }),
  },
  {
    title: 'AccountExport',
    description: 'All data about a user. Secrets are left out.',
  },
);
