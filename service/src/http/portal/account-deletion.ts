/** Deleting one's account: what goes with it, and the deletion. */
import { normaliseEmail } from '../../access/email.ts';
import { listAppsToDelete, listAppsToLeave, listEndingBindings } from '../../access/leave-apps.ts';
import { AccountDeletion, AccountDeletionRequest } from '../../contract/account.ts';
import { envelope } from '../../contract/envelope.ts';
import { exampleId } from '../../contract/examples.ts';
import { listBindable } from '../../directory/bindable.ts';
import type { DirectoryReads } from '../../directory/list.ts';
import { invalid } from '../../errors.ts';
import { oneOf } from '../responses/responses.ts';
import { done, doneResponse } from './sign-in.ts';
import { operation } from './surface.ts';

const managedShownMax = 100;
const exampleSubject = {
  kind: 'organization',
  slug: 'acme-corporation',
  name: 'Acme Corporation',
} as const;
const example: AccountDeletion = {
  appsToDelete: [
    {
      id: exampleId,
      name: 'Announcer',
      keyCount: 2,
      webhookCount: 1,
      pendingDeliveryCount: 0,
      otherMemberCount: 0,
    },
  ],
  appsToLeave: [],
  endingBindings: [{ appId: exampleId, appName: 'Announcer', ...exampleSubject }],
  managed: [exampleSubject],
  managedCount: 1,
};

export const getAccountDeletion = operation({
  operationId: 'getAccountDeletion',
  method: 'GET',
  path: '/account/deletion',
  summary: 'List what goes with your account',
  description:
    'Returns the apps that are deleted with your account because they have no other owner, the apps that stay with their other owners or because they are suspended, and the bindings that end. Organisations and alliances keep your address as a manager until they remove it.',
  returns: { 200: 'What goes with the account.' },
  response: oneOf(AccountDeletion, 'AccountDeletionResponse', example),
  run: async ({ account: { email }, ...reads }) => envelope(await previewDeletion(reads, email)),
});

/** What goes with the account of this address. */
export async function previewDeletion(
  { database, search }: DirectoryReads,
  email: string,
): Promise<AccountDeletion> {
  const page = { page: 1, limit: managedShownMax };
  const { total, entries } = await listBindable({ database, search }, email, page);
  return {
    appsToDelete: await listAppsToDelete(database, email),
    appsToLeave: await listAppsToLeave(database, email),
    endingBindings: await listEndingBindings(database, { from: email, to: null }),
    managed: entries.map(({ kind, slug, name }) => ({ kind, slug, name })),
    managedCount: total,
  };
}

export const deleteAccount = operation({
  operationId: 'deleteAccount',
  method: 'POST',
  path: '/account/deletion',
  summary: 'Delete your account',
  description:
    'Deletes the account with its sessions and ways to sign in, and the apps without another owner. A suspended app stays suspended, and your address its owner. `apps` must name exactly these apps, so transfer those that should stay first; otherwise nothing happens and the response is `conflict`. The audit log stays. Cannot be undone.',
  body: AccountDeletionRequest,
  returns: { 200: 'The account was deleted.' },
  response: doneResponse,
  errors: ['conflict'],
  recentProof: true,
  async run({ signIn: { accounts }, account, body: { email, apps } }) {
    if (normaliseEmail(email, 'body.email') !== account.email)
      throw invalid({ path: 'body.email', message: 'is not the address of your account' });
    await accounts.delete(account, apps);
    return done;
  },
});
