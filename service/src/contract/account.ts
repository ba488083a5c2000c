/** Sign-in to the portal, and the user's own account. */
import { Type, type Static } from 'typebox';
import { PortalBinding, role } from './portal.ts';
import { nullable, plainName, strictObject, time, uuid, count, boolean, text } from './shapes.ts';

/** Long enough that no list of known passwords is worth trying ten times a minute; NIST SP 800-63B asks for eight. */
export const passwordLengthMin = 10;
/** Longer ones are hashed to the same 64 bytes. */
export const passwordLengthMax = 128;

const address = Type.String({
  minLength: 3,
  maxLength: 254,
  format: 'email',
  description: 'The email address of the account.',
  examples: ['ada@example.org'],
});

const newPassword = Type.String({
  minLength: passwordLengthMin,
  maxLength: passwordLengthMax,
  description: 'The new password.',
  examples: ['correct horse battery staple'],
});
export const knownPassword = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: passwordLengthMax,
    description,
    examples: ['correct horse battery staple'],
  });

const accountName = plainName('Your name', 'Ada');

const token = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: 100,
    description,
    examples: ['aGVsbG8gd29ybGQgaGVsbG8gd29ybGQgaGVsbG8gd28'],
  });
const linkToken = token('The part of the link after `#`.');

const examples: Record<string, string> = {
  email: 'ada@example.org',
  password: 'correct horse battery staple',
  currentPassword: 'correct horse battery staple',
  newPassword: 'another horse entirely',
  token: 'aGVsbG8gd29ybGQgaGVsbG8gd29ybGQgaGVsbG8gd28',
  name: 'Ada',
  provider: 'github',
};

/** A body with the examples of its fields. */
function body<T extends Parameters<typeof strictObject>[0]>(
  fields: T,
  title: string,
  description: string,
  more: Record<string, string> = {},
) {
  const example = Object.fromEntries(
    Object.keys(fields).map((name) => [name, more[name] ?? examples[name]]),
  );
  return strictObject(fields, { title, description, examples: [example] });
}

export const Credentials = body(
  { email: address, password: knownPassword('The password.') },
  'Credentials',
  'An email address and its password.',
);
export const PasswordLinkRequest = body(
  { email: address },
  'PasswordLinkRequest',
  'The email address to send a link to.',
);
export const PasswordLinkToken = body(
  { token: linkToken },
  'PasswordLinkToken',
  'The token of a link.',
);
export const ChosenPassword = body(
  { token: linkToken, password: newPassword, name: Type.Optional(accountName) },
  'ChosenPassword',
  'A new password and the token of the link. A new account also needs a name.',
);
export const NewFirstAccount = body(
  {
    token: token('The part of the link on the terminal after `#`.'),
    email: address,
    name: accountName,
    password: newPassword,
  },
  'NewFirstAccount',
  'The first account of this installation.',
);
export const PasswordChange = body(
  { currentPassword: knownPassword('The current password.'), newPassword },
  'PasswordChange',
  'The current password and a new one.',
);
export const AddressChangeRequest = body(
  { email: address },
  'AddressChangeRequest',
  'The new email address of the account.',
  { email: 'ada@example.com' },
);
export const AddressChangeToken = body(
  { token: linkToken },
  'AddressChangeToken',
  'The token of a link that changes the address.',
);
const appName = Type.String({ description: 'The name of the app.' });
const appId = uuid({ description: 'The id of the app.' });
const { kind, slug, name: subjectName } = PortalBinding.properties;
export const EndingBinding = strictObject(
  {
    appId,
    appName,
    kind,
    slug,
    name: subjectName,
  },
  { title: 'EndingBinding', description: 'A binding that you made and that ends.' },
);
export type EndingBinding = Static<typeof EndingBinding>;
const AppToDelete = strictObject(
  {
    id: appId,
    name: appName,
    keyCount: count('The number of valid keys.'),
    webhookCount: count('The number of webhooks.'),
    pendingDeliveryCount: count('The number of pending deliveries, at most 10,000.'),
    otherMemberCount: count('The number of other members, none of whom is an owner.'),
  },
  { title: 'AppToDelete', description: 'An app that is deleted with the account.' },
);
export type AppToDelete = Static<typeof AppToDelete>;
const AppToLeave = strictObject(
  { id: appId, name: appName, role: role('Your role in the app.') },
  { title: 'AppToLeave', description: 'An app that stays.' },
);
export type AppToLeave = Static<typeof AppToLeave>;
export const AccountDeletion = strictObject(
  {
    appsToDelete: Type.Array(AppToDelete, {
      description: 'The apps without another owner that are not suspended.',
    }),
    appsToLeave: Type.Array(AppToLeave, {
      description: 'The apps with another owner, and suspended apps.',
    }),
    endingBindings: Type.Array(EndingBinding, { description: 'The bindings that you made.' }),
    managed: Type.Array(
      strictObject(
        { kind, slug, name: subjectName },
        { title: 'ManagedName', description: 'An organisation or alliance.' },
      ),
      {
        description:
          'The organisations and alliances that you manage, at most 100. They keep your address as a manager until they remove it.',
      },
    ),
    managedCount: count('The number of organisations and alliances that you manage.'),
  },
  { title: 'AccountDeletion', description: 'What goes with the account.' },
);
export type AccountDeletion = Static<typeof AccountDeletion>;
/** More than anybody owns. */
const appsToDeleteMax = 1_000;
export const AccountDeletionRequest = strictObject(
  {
    email: address,
    apps: Type.Array(appId, {
      maxItems: appsToDeleteMax,
      uniqueItems: true,
      description: 'The ids of the apps that are deleted with the account.',
    }),
  },
  {
    title: 'AccountDeletionRequest',
    description: 'Confirms the deletion of the account.',
    examples: [{ email: 'ada@example.org', apps: ['0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f'] }],
  },
);
export const AddressChange = strictObject(
  {
    email: Type.String({ description: 'The new email address.' }),
    endingBindings: Type.Array(EndingBinding, {
      description:
        'The bindings that end with the change, because the new address does not manage the organisation or alliance.',
    }),
  },
  { title: 'AddressChange', description: 'A change of address that can be confirmed.' },
);
export const ChangedAddress = strictObject(
  { email: Type.String({ description: 'The new email address.' }) },
  { title: 'ChangedAddress', description: 'Confirms the change of the address.' },
);
export const AccountPreferences = strictObject(
  {
    announcementMails: boolean(
      'Whether you want announcements of the operator by mail while you own an app.',
    ),
  },
  {
    title: 'AccountPreferences',
    description: 'What you have chosen for your account.',
  },
);
export const AccountPreferenceChanges = strictObject(AccountPreferences.properties, {
  title: 'AccountPreferenceChanges',
  description: 'The preferences to change.',
  examples: [{ announcementMails: false }],
});
export type AccountPreferences = Static<typeof AccountPreferences>;

export const AccountChanges = body(
  { name: accountName },
  'AccountChanges',
  'The fields to change.',
);

const provider = Type.String({
  minLength: 1,
  maxLength: 50,
  description: "The provider's id, from the sign-in options.",
  examples: ['github'],
});

/** `callbackPattern` matches the portal pages that the browser may return to. */
export const providerRequest = (callbackPattern: string) => {
  const example = '/profile/developer/account';
  const page = (description: string) =>
    Type.String({ maxLength: 2048, pattern: callbackPattern, description, examples: [example] });
  return body(
    {
      provider,
      callbackURL: page('The page of the portal to return to.'),
      errorCallbackURL: page('The page to return to on failure, with `?error=`.'),
    },
    'ProviderRequest',
    'A provider and the pages to return to.',
    { callbackURL: example, errorCallbackURL: example },
  );
};
export const ProviderRedirect = strictObject(
  { url: Type.String({ description: 'The address to send the browser to.' }) },
  { title: 'ProviderRedirect', description: 'The address to sign in with the provider.' },
);

export const PasswordLink = strictObject(
  {
    email: Type.String({ description: 'The email address that the link was sent to.' }),
    hasAccount: boolean('Whether there is an account with this address.'),
  },
  { title: 'PasswordLink', description: 'A valid link.' },
);

export const AccountMethod = strictObject(
  {
    id: uuid({ description: 'The id of the sign-in method.' }),
    provider: Type.String({
      description: "`credential` for a password, otherwise the provider's id.",
    }),
    createdAt: time({ description: 'When the method was added.' }),
  },
  { title: 'AccountMethod', description: 'A sign-in method.' },
);
export type AccountMethod = Static<typeof AccountMethod>;

export const PasswordSet = strictObject(
  {
    email: Type.String({ description: 'The email address of the account.' }),
    created: boolean('Whether the account is new.'),
    methods: Type.Array(AccountMethod, {
      description:
        'The other sign-in methods of the account. Remove those that you do not recognise.',
    }),
    hasPasskeys: boolean(
      'Whether the account has passkeys, which sign in too. Remove those that you do not recognise.',
    ),
  },
  { title: 'PasswordSet', description: 'The account whose password was set.' },
);

export const AccountSession = strictObject(
  {
    id: uuid({ description: 'The id of the session.' }),
    current: boolean('Whether this request uses this session.'),
    ipAddress: nullable(Type.String({ description: 'The IP address that started the session.' })),
    userAgent: nullable(Type.String({ description: 'The user agent that started the session.' })),
    createdAt: time({ description: 'When the session started.' }),
    expiresAt: time({ description: 'When the session expires if it is not used.' }),
  },
  { title: 'AccountSession', description: 'A session of the account.' },
);

export const AccountActivityEntry = strictObject(
  {
    id: Type.Integer({ description: 'An increasing number.' }),
    at: time({ description: 'When the action happened.' }),
    action: text('The action.', 'account.signed_in'),
    ipAddress: nullable(Type.String({ description: 'The IP address of the caller.' })),
    userAgent: nullable(Type.String({ description: "The caller's user agent." })),
    details: Type.Object({}, { additionalProperties: true, description: 'Details of the action.' }),
  },
  { title: 'AccountActivityEntry', description: 'An entry of the account activity.' },
);
export type AccountActivityEntry = Static<typeof AccountActivityEntry>;

export const Done = strictObject(
  { done: Type.Literal(true, { description: 'Always true.' }) },
  { title: 'Done', description: 'Confirms that the operation succeeded.' },
);
export const EndedSessions = strictObject(
  { ended: count('The number of sessions that were ended.') },
  { title: 'EndedSessions', description: 'The number of sessions that were ended.' },
);
export const FirstAccount = strictObject(
  { userId: uuid({ description: 'The id of the new user.' }) },
  { title: 'FirstAccount', description: 'The new account.' },
);
