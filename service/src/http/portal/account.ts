/** One's own account: its name, password and address, the ways to sign in, the sessions and what happened to it. */
import { proofMinutes } from '../../contract/periods.ts';
import {
  AccountActivityEntry,
  AccountChanges,
  AccountMethod,
  AccountPreferenceChanges,
  AccountPreferences,
  AccountSession,
  EndedSessions,
  PasswordChange,
  providerRequest,
  AddressChange,
  AddressChangeRequest,
  AddressChangeToken,
  ChangedAddress,
  type EndingBinding,
} from '../../contract/account.ts';
import { envelope, pageEnvelope } from '../../contract/envelope.ts';
import { exampleId, exampleTime } from '../../contract/examples.ts';
import { PageQuery } from '../../directory/list-query.ts';
import { listActivity, type AccountActivity } from '../../sign-in/activity.ts';
import { listMethods } from '../../sign-in/list-accounts.ts';
import { changePreferences, readPreferences } from '../../sign-in/preferences.ts';
import { completeMax } from '../../sign-in/session-proof.ts';
import { listSessions } from '../../sign-in/sessions.ts';
import { listOf, oneOf } from '../responses/responses.ts';
import { getAccountDeletion } from './account-deletion.ts';
import { exportAccount } from './account-export.ts';
import { returnPattern } from './callback.ts';
import {
  done,
  doneResponse,
  exampleMethod,
  redirectResponse,
  setCookies,
  requireLinks,
  unusableLink,
} from './sign-in.ts';
import { onOnePage, operation } from './surface.ts';
import { normaliseEmail } from '../../access/email.ts';
import { listEndingBindings } from '../../access/leave-apps.ts';
import { readAddressChange } from '../../sign-in/address-changes.ts';

const exampleSession = {
  id: exampleId,
  current: true,
  ipAddress: '203.0.113.7',
  userAgent: 'Mozilla/5.0',
  createdAt: exampleTime,
  expiresAt: exampleTime,
};
const exampleActivity: AccountActivityEntry = {
  id: 17,
  at: exampleTime,
  action: 'account.signed_in',
  ipAddress: '203.0.113.7',
  userAgent: 'Mozilla/5.0',
  details: { method: 'password' },
};

export const accountOperations = (publicUrl: string) => [
  ...settingOperations,
  ...addressOperations,
  ...methodOperations,
  addAccountMethod(publicUrl),
  ...sessionOperations,
  exportAccount,
  getAccountDeletion,
];

const preferencesResponse = oneOf(AccountPreferences, 'AccountPreferencesResponse', {
  announcementMails: true,
});

const settingOperations = [
  operation({
    operationId: 'updateAccount',
    method: 'PATCH',
    path: '/account',
    summary: 'Update your account',
    description: 'Changes the name.',
    body: AccountChanges,
    returns: { 200: 'The change was saved.' },
    response: doneResponse,
    async run({ signIn: { accounts }, account, appLimits, body }) {
      appLimits.changes(account.email);
      await accounts.rename(account, body.name.trim());
      return done;
    },
  }),
  operation({
    operationId: 'getAccountPreferences',
    method: 'GET',
    path: '/account/preferences',
    summary: 'Get your preferences',
    description: 'Returns what you have chosen for your account.',
    returns: { 200: 'Your preferences.' },
    response: preferencesResponse,
    run: async ({ database, account }) => envelope(await readPreferences(database, account.id)),
  }),
  operation({
    operationId: 'updateAccountPreferences',
    method: 'PATCH',
    path: '/account/preferences',
    summary: 'Update your preferences',
    description: 'Sets whether you get announcements by mail while you own an app.',
    body: AccountPreferenceChanges,
    returns: { 200: 'Your preferences.' },
    response: preferencesResponse,
    run: async ({ database, account, body }) =>
      envelope(await changePreferences(database, account.id, body)),
  }),
  operation({
    operationId: 'changePassword',
    method: 'PUT',
    path: '/account/password',
    summary: 'Change your password',
    description: 'Ends all your other sessions.',
    body: PasswordChange,
    returns: { 200: 'The change was saved.' },
    response: doneResponse,
    errors: ['conflict'],
    async run({ signIn: { accounts }, account, limits, body }) {
      limits.changePassword(account.id);
      await accounts.changePassword(account, body);
      return done;
    },
  }),
  operation({
    operationId: 'listAccountActivity',
    method: 'GET',
    path: '/account/activity',
    summary: 'List the activity of your account',
    description:
      'Returns sign-ins, failed sign-ins (counted per minute) and changes, newest first.',
    query: PageQuery,
    returns: { 200: 'The activity.' },
    response: listOf(AccountActivityEntry, 'AccountActivityList', exampleActivity),
    async run({ database, account, query }) {
      const { entries, total } = await listActivity(database, account.id, query);
      return pageEnvelope(entries.map(toEntry), query, total);
    },
  }),
];

const methodOperations = [
  operation({
    operationId: 'listAccountMethods',
    method: 'GET',
    path: '/account/methods',
    summary: 'List the ways to sign in',
    description: 'Returns your password and providers, oldest first.',
    returns: { 200: 'The ways to sign in.' },
    response: listOf(AccountMethod, 'AccountMethodList', exampleMethod),
    run: async ({ database, account }) => onOnePage(await listMethods(database, account.id)),
  }),
  operation({
    operationId: 'removeAccountMethod',
    method: 'DELETE',
    path: '/account/methods/:methodId',
    summary: 'Remove a way to sign in',
    description: 'Returns `conflict` for the last way to sign in.',
    returns: { 200: 'The way to sign in was removed.' },
    response: doneResponse,
    errors: ['conflict'],
    recentProof: true,
    async run({ signIn: { accounts }, account, params }) {
      await accounts.removeMethod(account, params.methodId);
      return done;
    },
  }),
];

const addAccountMethod = (publicUrl: string) =>
  operation({
    operationId: 'addAccountMethod',
    method: 'POST',
    path: '/account/methods',
    summary: 'Add a provider',
    description: `Returns the URL of the provider, which redirects the browser back. The provider is added if the same session comes back, with a second factor if the account has one, and with a proof of the last ${proofMinutes} minutes.`,
    body: providerRequest(returnPattern(publicUrl)),
    returns: { 200: 'The URL to open.' },
    response: redirectResponse,
    errors: ['not_found'],
    recentProof: true,
    async run({ signIn, account, caller, body: { provider, ...back }, reply }) {
      const linking = { caller, sessionId: account.sessionId };
      const { url, cookies } = await signIn.linkProvider(provider, back, linking);
      setCookies(reply, cookies);
      return envelope({ url });
    },
  });

const sessionOperations = [
  operation({
    operationId: 'listAccountSessions',
    method: 'GET',
    path: '/account/sessions',
    summary: 'List your sessions',
    description: `Returns the sessions, newest first, without those that miss a second factor, which open nothing. Of more than ${completeMax}, the oldest end.`,
    returns: { 200: 'The sessions.' },
    response: listOf(AccountSession, 'AccountSessionList', exampleSession),
    run: async ({ database, account: { id, sessionId } }) =>
      onOnePage(await listSessions(database, id, sessionId)),
  }),
  operation({
    operationId: 'endOtherAccountSessions',
    method: 'DELETE',
    path: '/account/sessions',
    summary: 'End your other sessions',
    description: 'Ends every session except that of this request.',
    returns: { 200: 'The sessions were ended.' },
    response: oneOf(EndedSessions, 'EndedSessionsResponse', { ended: 2 }),
    run: async ({ signIn: { accounts }, account }) =>
      envelope({ ended: await accounts.endOtherSessions(account) }),
  }),
  operation({
    operationId: 'endAccountSession',
    method: 'DELETE',
    path: '/account/sessions/:sessionId',
    summary: 'End a session',
    description: 'Signs out the browser at once.',
    returns: { 200: 'The session was ended.' },
    response: doneResponse,
    async run({ signIn: { accounts }, account, params }) {
      await accounts.endSession(account, params.sessionId);
      return done;
    },
  }),
];

function toEntry({ id, at, action, details }: AccountActivity): AccountActivityEntry {
  const { ip = null, userAgent = null, ...rest } = details;
  return {
    id,
    at: at.toISOString(),
    action,
    ipAddress: ip as string | null,
    userAgent: userAgent as string | null,
    details: rest,
  };
}

const exampleAddress = 'ada@example.com';
const exampleEndingBinding: EndingBinding = {
  appId: exampleId,
  appName: 'Announcer',
  kind: 'organization',
  slug: 'acme-corporation',
  name: 'Acme Corporation',
};

/** A link goes to the new address, and is confirmed in a session of the account. */
const addressOperations = [
  operation({
    operationId: 'requestAddressChange',
    method: 'POST',
    path: '/account/address-changes',
    summary: 'Request a change of your address',
    description:
      'Sends a link to the new address and a notice to the current one. The current address stays until the link is used. The link works once, within an hour, only in a session of this account, and replaces earlier links. The response is the same if the new address has an account already; then no link is sent.',
    body: AddressChangeRequest,
    returns: { 202: 'The link is being sent.' },
    response: doneResponse,
    recentProof: true,
    async run({ signIn, account, limits, caller, body }) {
      requireLinks(signIn.links);
      limits.mailForAccount(caller.ip, account.id, normaliseEmail(body.email, 'body.email'));
      await signIn.accounts.requestAddressChange(account, body.email);
      return done;
    },
  }),
  operation({
    operationId: 'checkAddressChange',
    method: 'POST',
    path: '/account/address-changes/check',
    summary: 'Check a link that changes your address',
    description:
      'Returns the new address and the bindings that end with the change. Returns `forbidden` if the link is for another account, was used or replaced, or has expired.',
    body: AddressChangeToken,
    returns: { 200: 'The link can be used.' },
    response: oneOf(AddressChange, 'AddressChangeResponse', {
      email: exampleAddress,
      endingBindings: [exampleEndingBinding],
    }),
    async run({ account, database, body: { token } }) {
      const email = await readAddressChange(database, account.id, token);
      if (email === null) throw unusableLink();
      const move = { from: account.email, to: email };
      return envelope({ email, endingBindings: await listEndingBindings(database, move) });
    },
  }),
  operation({
    operationId: 'changeAddress',
    method: 'PUT',
    path: '/account/address',
    summary: 'Change your address with a link',
    description:
      'Moves your apps to the new address and ends all your other sessions. Manager roles stay with the old address, so bindings end unless the new address manages the same organisation or alliance. Returns `conflict` if the new address got an account in the meantime.',
    body: AddressChangeToken,
    returns: { 200: 'The address was changed.' },
    response: oneOf(ChangedAddress, 'ChangedAddressResponse', { email: exampleAddress }),
    errors: ['conflict'],
    async run({ signIn: { accounts }, account, body: { token } }) {
      const email = await accounts.changeAddress(account, token);
      if (email === null) throw unusableLink();
      return envelope({ email });
    },
  }),
];
