/** `orgdir apps members …`: who is a member of an app, and with which role. */
import { Option, type Command } from 'commander';
import { readApp } from '../access/apps.ts';
import { revokeKeysOf } from '../access/keys.ts';
import { listMembers, removeMember, setMember } from '../access/members.ts';
import { appRoles, type AppRole } from '../contract/app-roles.ts';
import { cliActor, table } from './with-database.ts';
import { addCommand, exampleId, parseEmail, requiredOption } from './parse-option.ts';

const argument = ['<id>', 'id of the app'] as const;
const emailOption = () =>
  requiredOption('--email <email>', 'email address of the member', parseEmail);

export function addMemberCommands(apps: Command): void {
  const members = apps
    .command('members')
    .description('Manage the members of apps: owners, developers and viewers.');
  addCommand(members, {
    name: 'list',
    description: 'List the members of an app, owners first.',
    argument,
    example: exampleId,
    async act({ database, given: id }) {
      await readApp(database, id);
      const found = await listMembers(database, id);
      const rows = found.map(({ email, role, createdAt }) => [
        email,
        role,
        createdAt.toISOString(),
      ]);
      return [found, table(['EMAIL', 'ROLE', 'SINCE'], rows)];
    },
  });
  addCommand<{ email: string; role: AppRole }>(members, {
    name: 'add',
    description:
      'Add a member, or change the role of one. The bindings of an owner who gets another role end.',
    argument,
    options: [
      emailOption(),
      new Option('--role <role>', 'what the member may do').choices(appRoles).makeOptionMandatory(),
    ],
    example: `${exampleId} --email grace@example.org --role developer`,
    async act({ change, given: id, flags: { email, role } }) {
      const changed = await change(async (tx) => {
        const { id: appId } = await readApp(tx, id);
        return setMember(tx, cliActor(), { appId, email, role });
      });
      return [{ changed }, [changed ? 'Done.' : 'Nothing to change.']];
    },
  });
  addRemove(members);
}

function addRemove(members: Command): void {
  addCommand<{ email: string; revokeKeys?: boolean }>(members, {
    name: 'remove',
    description: 'Remove a member, and the bindings that they made. The last owner stays.',
    argument,
    options: [
      emailOption(),
      ['--revoke-keys', 'also revoke the keys that they created or rotated in the portal'],
    ],
    example: `${exampleId} --email grace@example.org`,
    async act({ change, given: id, flags }) {
      const removed = await change(async (tx) => {
        const { id: appId } = await readApp(tx, id);
        const member = { appId, email: flags.email };
        const changed = await removeMember(tx, cliActor(), member);
        const revokedKeys = flags.revokeKeys ? await revokeKeysOf(tx, cliActor(), member) : 0;
        return { changed, revokedKeys };
      });
      const lines = [removed.changed ? 'Done.' : 'Nothing to change.'];
      if (flags.revokeKeys) lines.push(`Keys revoked: ${removed.revokedKeys}`);
      return [removed, lines];
    },
  });
}
