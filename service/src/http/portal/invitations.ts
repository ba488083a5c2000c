/**
 * Invitations to the user's apps, and to the user. Nothing in a response depends on whether the invited address has an
 * account. A mailed link shows what the invitation is for, and proves nothing: it may have been forwarded.
 */
import { readApp } from '../../access/apps.ts';
import {
  acceptInvitation,
  createInvitation,
  declineInvitation,
  findInvitation,
  listInvitations,
  listOwnInvitations,
  resendInvitation,
  revokeInvitation,
  type Invitation,
  type OwnInvitation as Own,
} from '../../access/invitations.ts';
import { readOwnApp } from '../../access/own-apps.ts';
import { holdAccount, requireRole } from '../../access/require-role.ts';
import { PasswordLinkRequest, PasswordLinkToken } from '../../contract/account.ts';
import { envelope } from '../../contract/envelope.ts';
import { exampleId, exampleLaterTime, exampleTime } from '../../contract/examples.ts';
import { invitationDaysInWords } from '../../contract/periods.ts';
import { AppInvitation, InvitationLink, OwnInvitation, role } from '../../contract/portal.ts';
import { deleted, strictObject } from '../../contract/shapes.ts';
import { withTextTimes } from '../../contract/parse-time.ts';
import type { Executor } from '../../database/database.ts';
import { ServiceError } from '../../errors.ts';
import { readMailbox } from '../../sign-in/accounts.ts';
import { createToken, digest } from '../../sign-in/token.ts';
import { listOf, oneOf } from '../responses/responses.ts';
import { appResponse, toPortalApp } from './apps.ts';
import { done, doneResponse, requireLinks } from './sign-in.ts';
import { onOnePage, openOperation, operation, type PortalRouteDependencies } from './surface.ts';

/** One page. */
const ownInvitationsMax = 100;

const NewInvitation = strictObject(
  {
    email: { ...PasswordLinkRequest.properties.email, description: 'The address to invite.' },
    role: role('The role that the invited person gets.'),
  },
  {
    title: 'NewInvitation',
    description: 'A new invitation.',
    examples: [{ email: 'grace@example.org', role: 'developer' }],
  },
);
const EndedInvitation = deleted('The id of the invitation.', {
  title: 'EndedInvitation',
  description: 'Confirms that the invitation has ended.',
});
const example: AppInvitation = {
  id: exampleId,
  email: 'grace@example.org',
  role: 'developer',
  invitedBy: 'ada@example.org',
  createdAt: exampleTime,
  expiresAt: exampleLaterTime,
};
const invitationResponse = oneOf(AppInvitation, 'AppInvitationResponse', example);
const endedResponse = oneOf(EndedInvitation, 'EndedInvitationResponse', {
  id: exampleId,
  deleted: true,
});

const invitationsOfApps = [
  operation({
    operationId: 'listInvitations',
    method: 'GET',
    path: '/apps/:appId/invitations',
    summary: 'List the invitations of an app',
    description:
      'Returns the invitations that can be accepted, oldest first. There are at most 20.',
    returns: { 200: 'The invitations.' },
    response: listOf(AppInvitation, 'AppInvitationList', example),
    async run({ database, email, params: { appId } }) {
      await requireRole(database, email, appId, 'viewer');
      return onOnePage((await listInvitations(database, appId)).map((each) => withTextTimes(each)));
    },
  }),
  operation({
    operationId: 'createInvitation',
    method: 'POST',
    path: '/apps/:appId/invitations',
    summary: 'Invite somebody',
    description: `Mails a link to the address. Whoever signs in with this address can accept within ${invitationDaysInWords} days. Only owners can do this. The response is the same whether or not the address has an account. An app sends at most 20 invitations per hour.`,
    body: NewInvitation,
    returns: { 201: 'The invitation.' },
    response: invitationResponse,
    errors: ['conflict'],
    recentProof: true,
    async run({ database, change, limits, email: by, actor, params: { appId }, body, ...context }) {
      const email = readMailbox(body.email);
      const token = createToken();
      const invitation = await change(async (tx) => {
        const hash = digest(token);
        const invited = { appId, by, email, role: body.role, hash };
        const created = await createInvitation(tx, actor, invited);
        context.signIn.mail.requireRoom('invitation');
        limits.invite(by, email);
        return created;
      });
      await mailInvitation({ database, ...context }, appId, invitation, token);
      return envelope(withTextTimes(invitation));
    },
  }),
  operation({
    operationId: 'resendInvitation',
    method: 'POST',
    path: '/apps/:appId/invitations/:invitationId/resend',
    summary: 'Resend an invitation',
    description: `Mails a new link, which replaces the earlier one and is valid for ${invitationDaysInWords} days. Only owners can do this.`,
    returns: { 200: 'The invitation.' },
    response: invitationResponse,
    async run({
      database,
      change,
      limits,
      email: by,
      actor,
      params: { appId, invitationId: id },
      ...context
    }) {
      const token = createToken();
      const invitation = await change(async (tx) => {
        const hash = digest(token);
        const resent = await resendInvitation(tx, actor, { appId, by, id, hash });
        context.signIn.mail.requireRoom('invitation');
        limits.invite(by, resent.email);
        return resent;
      });
      await mailInvitation({ database, ...context }, appId, invitation, token);
      return envelope(withTextTimes(invitation));
    },
  }),
  operation({
    operationId: 'revokeInvitation',
    method: 'DELETE',
    path: '/apps/:appId/invitations/:invitationId',
    summary: 'Revoke an invitation',
    description: 'The invitation can no longer be accepted. Only owners can do this.',
    returns: { 200: 'The invitation has ended.' },
    response: endedResponse,
    async run({ change, email: by, actor, params: { appId, invitationId: id } }) {
      await change((tx) => revokeInvitation(tx, actor, { appId, by, id }));
      return envelope({ id, deleted: true });
    },
  }),
];

const ownInvitations = [
  operation({
    operationId: 'listOwnInvitations',
    method: 'GET',
    path: '/invitations',
    summary: 'List your invitations',
    description: 'Returns the invitations for your address, oldest first. There are at most 100.',
    returns: { 200: 'Your invitations.' },
    response: listOf(OwnInvitation, 'OwnInvitationList', { ...example, appName: 'Announcer' }),
    run: async ({ database, email }) =>
      onOnePage(
        (await listOwnInvitations(database, email, ownInvitationsMax)).map((each) =>
          withTextTimes(each),
        ),
      ),
  }),
  operation({
    operationId: 'acceptInvitation',
    method: 'POST',
    path: '/invitations/:invitationId/accept',
    summary: 'Accept an invitation',
    description: 'Makes you a member of the app.',
    returns: { 200: 'The app.' },
    response: appResponse,
    errors: ['conflict'],
    async run({ change, email, actor, params: { invitationId: id } }) {
      const app = await change(async (tx) => {
        await holdAccount(tx, actor);
        const appId = await acceptInvitation(tx, actor, { id, email });
        return readOwnApp(tx, email, appId);
      });
      return envelope(toPortalApp(app));
    },
  }),
  operation({
    operationId: 'declineInvitation',
    method: 'POST',
    path: '/invitations/:invitationId/decline',
    summary: 'Decline an invitation',
    description: 'Ends the invitation.',
    returns: { 200: 'The invitation has ended.' },
    response: endedResponse,
    async run({ change, email, actor, params: { invitationId: id } }) {
      await change((tx) => declineInvitation(tx, actor, { id, email }));
      return envelope({ id, deleted: true });
    },
  }),
];

export const invitationOperations = [...invitationsOfApps, ...ownInvitations];

export const invitationLinkOperations = [
  openOperation({
    operationId: 'checkInvitationLink',
    method: 'POST',
    path: '/invitations/check',
    summary: 'Check an invitation link',
    description:
      'Returns the invitation of the link. Returns `forbidden` if the invitation has ended or was resent.',
    body: PasswordLinkToken,
    returns: { 200: 'The invitation.' },
    response: oneOf(InvitationLink, 'InvitationLinkResponse', {
      ...example,
      appName: 'Announcer',
    }),
    run: async ({ database, body }) =>
      envelope(withTextTimes(await requireLink(database, body.token))),
  }),
  openOperation({
    operationId: 'signUpWithInvitation',
    method: 'POST',
    path: '/invitations/sign-up',
    summary: 'Sign up with an invitation link',
    description:
      'Mails a link that creates an account to the invited address, or a mail that it has an account. The response is the same. The link works once, within an hour. Accept the invitation after you have signed in.',
    body: PasswordLinkToken,
    returns: { 202: 'The mail is being sent.' },
    response: doneResponse,
    async run({ database, signIn, limits, caller, body }) {
      requireLinks(signIn.links);
      const { id, email } = await requireLink(database, body.token);
      limits.mail({ ip: caller.ip, email, device: signIn.knownDevice(caller, email) });
      // As `portal/src/members/own-invitations.tsx` has it.
      await signIn.accounts.requestSignUp(email, `/apps?invitation=${id}`);
      return done;
    },
  }),
];

async function requireLink(executor: Executor, token: string): Promise<Own> {
  const invitation = await findInvitation(executor, digest(token));
  if (invitation) return invitation;
  throw new ServiceError('forbidden', 'The invitation has ended or was replaced by a newer one.');
}

/** Resolves before the mail is sent. */
async function mailInvitation(
  { database, signIn, publicUrl }: PortalRouteDependencies,
  appId: string,
  { email, role: offered, invitedBy }: Invitation,
  token: string,
): Promise<void> {
  const { name: appName } = await readApp(database, appId);
  // The token stands behind `#`, which no server and no log on the way sees.
  const url = `${publicUrl}/profile/developer/invitation#${token}`;
  if (signIn.links !== null)
    signIn.mail.invitation(email, { appName, role: offered, invitedBy, url });
}
