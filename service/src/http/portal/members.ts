/** The members of the user's apps, and the user's own membership. */
import { Type } from 'typebox';
import {
  changeRole,
  listMembers,
  readMember,
  removeMember,
  setFailureMails,
  transferApp,
  type Member,
} from '../../access/members.ts';
import { revokeKeysOf } from '../../access/keys.ts';
import { readOwnApp } from '../../access/own-apps.ts';
import { lockWithRole, requireRole } from '../../access/require-role.ts';
import { envelope } from '../../contract/envelope.ts';
import { exampleId, exampleTime } from '../../contract/examples.ts';
import { AppMember, role } from '../../contract/portal.ts';
import { deleted, strictObject, uuid, count, boolean } from '../../contract/shapes.ts';
import { listOf, oneOf } from '../responses/responses.ts';
import { appResponse, toPortalApp } from './apps.ts';
import { onOnePage, operation } from './surface.ts';

const MemberChanges = strictObject(
  { role: role('The new role.') },
  {
    title: 'AppMemberChanges',
    description: 'The fields to change.',
    examples: [{ role: 'developer' }],
  },
);
const MembershipChanges = strictObject(
  { failureMails: boolean('Whether you want mail about failing webhooks.') },
  {
    title: 'MembershipChanges',
    description: 'The fields to change.',
    examples: [{ failureMails: false }],
  },
);
const Transfer = strictObject(
  { memberId: uuid({ description: 'The id of the member who becomes an owner.' }) },
  {
    title: 'AppTransfer',
    description: 'To whom to transfer the app.',
    examples: [{ memberId: exampleId }],
  },
);
const RemovalQuery = strictObject({
  revokeKeys: Type.Optional(
    boolean('Whether to revoke the keys that the member created or rotated. Default: false.'),
  ),
});
const RemovedMember = strictObject(
  {
    ...deleted('The id of the removed member.').properties,
    revokedKeys: count('How many keys were revoked.'),
  },
  { title: 'RemovedAppMember', description: 'Confirms that the member was removed.' },
);
const LeftApp = deleted('The id of the app.', {
  title: 'LeftApp',
  description: 'Confirms that you are no longer a member.',
});
const example: AppMember = {
  id: exampleId,
  email: 'ada@example.org',
  name: 'Ada',
  role: 'owner',
  isYou: true,
  createdAt: exampleTime,
};

export const memberOperations = [
  operation({
    operationId: 'listMembers',
    method: 'GET',
    path: '/apps/:appId/members',
    summary: 'List the members of an app',
    description: 'Returns the members, owners first. There are at most 50.',
    returns: { 200: 'The members.' },
    response: listOf(AppMember, 'AppMemberList', example),
    async run({ database, email, params: { appId } }) {
      await requireRole(database, email, appId, 'viewer');
      const members = await listMembers(database, appId);
      return onOnePage(members.map((member) => toAppMember(member, email)));
    },
  }),
  operation({
    operationId: 'updateMember',
    method: 'PATCH',
    path: '/apps/:appId/members/:memberId',
    summary: "Change a member's role",
    description:
      'Only owners can do this. When an owner gets another role, the bindings and invitations that they made end. Returns `conflict` for the last owner.',
    body: MemberChanges,
    returns: { 200: 'The member.' },
    response: oneOf(AppMember, 'AppMemberResponse', example),
    errors: ['conflict'],
    recentProof: true,
    async run({ change, email, actor, params: { appId, memberId }, body }) {
      const member = await change(async (tx) => {
        await lockWithRole(tx, email, appId, 'owner');
        await changeRole(tx, actor, { appId, memberId, role: body.role });
        return readMember(tx, appId, memberId);
      });
      return envelope(toAppMember(member, email));
    },
  }),
  operation({
    operationId: 'removeMember',
    method: 'DELETE',
    path: '/apps/:appId/members/:memberId',
    summary: 'Remove a member',
    description:
      'Only owners can do this. The bindings and invitations that the member made end; their keys stay valid unless you revoke them. Returns `conflict` for the last owner.',
    query: RemovalQuery,
    returns: { 200: 'The member was removed.' },
    response: oneOf(RemovedMember, 'RemovedAppMemberResponse', {
      id: exampleId,
      deleted: true,
      revokedKeys: 0,
    }),
    errors: ['conflict'],
    recentProof: true,
    async run({ change, email, actor, params: { appId, memberId }, query }) {
      const revokedKeys = await change(async (tx) => {
        await lockWithRole(tx, email, appId, 'owner');
        const member = { appId, email: (await readMember(tx, appId, memberId)).email };
        await removeMember(tx, actor, member);
        return query.revokeKeys ? revokeKeysOf(tx, actor, member) : 0;
      });
      return envelope({ id: memberId, deleted: true, revokedKeys });
    },
  }),
  operation({
    operationId: 'transferApp',
    method: 'POST',
    path: '/apps/:appId/transfer',
    summary: 'Transfer an app',
    description:
      'Makes another member an owner, and you a developer. Only owners can do this. The bindings and invitations that you made end.',
    body: Transfer,
    returns: { 200: 'The app, with your new role.' },
    response: appResponse,
    errors: ['conflict'],
    recentProof: true,
    async run({ change, email, actor, params: { appId }, body }) {
      const app = await change(async (tx) => {
        await lockWithRole(tx, email, appId, 'owner');
        await transferApp(tx, actor, { appId, from: email, memberId: body.memberId });
        return readOwnApp(tx, email, appId);
      });
      return envelope(toPortalApp(app));
    },
  }),
  operation({
    operationId: 'updateMembership',
    method: 'PATCH',
    path: '/apps/:appId/membership',
    summary: 'Update your membership',
    description: 'Sets whether you get mail about failing webhooks of the app. Viewers get none.',
    body: MembershipChanges,
    returns: { 200: 'The app.' },
    response: appResponse,
    async run({ database, email, params: { appId }, body }) {
      await requireRole(database, email, appId, 'viewer');
      await setFailureMails(database, { appId, email, wanted: body.failureMails });
      return envelope(toPortalApp(await readOwnApp(database, email, appId)));
    },
  }),
  operation({
    operationId: 'leaveApp',
    method: 'DELETE',
    path: '/apps/:appId/membership',
    summary: 'Leave an app',
    description:
      'Ends your membership, and the bindings and invitations that you made. Returns `conflict` if you are the last owner.',
    returns: { 200: 'You are no longer a member.' },
    response: oneOf(LeftApp, 'LeftAppResponse', { id: exampleId, deleted: true }),
    errors: ['conflict'],
    async run({ change, email, actor, params: { appId } }) {
      await change(async (tx) => {
        await requireRole(tx, email, appId, 'viewer');
        await removeMember(tx, actor, { appId, email });
      });
      return envelope({ id: appId, deleted: true });
    },
  }),
];

function toAppMember({ createdAt, ...member }: Member, email: string): AppMember {
  return { ...member, isYou: member.email === email, createdAt: createdAt.toISOString() };
}
