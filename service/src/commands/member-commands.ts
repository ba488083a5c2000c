/** `orgdir apps members …`: who is a member of an app, and with which role. */
import { Option, type Command } from 'commander';
import { readApp } from '../access/apps.ts';
import { revokeKeysOf } from '../access/keys.ts';
import { listMembers, removeMember, setMember } from '../access/members.ts';
import { appRoles, type AppRole } from '../contract/app-roles.ts';
import { cliActor } from './cli-actor.ts';
import { parseEmail } from './parse-option.ts';
import { print, table, withDatabase } from './with-database.ts';

const exampleApp = '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f';

export function addMemberCommands(apps: Command): void {
  const members = apps
    .command('members')
    .description('Manage the members of apps: owners, developers and viewers.');
  addList(members);
  addAdd(members);
  addRemove(members);
}

function addList(members: Command): void {
  members
    .command('list')
    .description('List the members of an app, owners first.')
    .argument('<id>', 'id of the app')
    .option('--json', 'print JSON')
    .addHelpText('after', `\nExample:\n  orgdir apps members list ${exampleApp}`)
    .action(async (id: string, { json }: { json?: boolean }) => {
      const found = await withDatabase(async ({ database }) => {
        await readApp(database, id);
        return listMembers(database, id);
      });
      print(
        json,
        found,
        table(
          ['EMAIL', 'ROLE', 'SINCE'],
          found.map(({ email, role, createdAt }) => [email, role, createdAt.toISOString()]),
        ),
      );
    });
}

function addAdd(members: Command): void {
  members
    .command('add')
    .description(
      'Add a member, or change the role of one. The bindings of an owner who gets another role end.',
    )
    .argument('<id>', 'id of the app')
    .requiredOption('--email <email>', 'email address of the member', parseEmail)
    .addOption(
      new Option('--role <role>', 'what the member may do').choices(appRoles).makeOptionMandatory(),
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `\nExample:\n  orgdir apps members add ${exampleApp} --email grace@example.org --role developer`,
    )
    .action(async (id: string, flags: { email: string; role: AppRole; json?: boolean }) => {
      const { email, role } = flags;
      const changed = await withDatabase(({ database }) =>
        database.transaction().execute(async (tx) => {
          const { id: appId } = await readApp(tx, id);
          return setMember(tx, cliActor(), { appId, email, role });
        }),
      );
      printChange(flags.json, changed);
    });
}

function addRemove(members: Command): void {
  members
    .command('remove')
    .description('Remove a member, and the bindings that they made. The last owner stays.')
    .argument('<id>', 'id of the app')
    .requiredOption('--email <email>', 'email address of the member', parseEmail)
    .option('--revoke-keys', 'also revoke the keys that they created or rotated in the portal')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `\nExample:\n  orgdir apps members remove ${exampleApp} --email grace@example.org`,
    )
    .action(async (id: string, flags: { email: string; revokeKeys?: boolean; json?: boolean }) => {
      const removed = await withDatabase(({ database }) =>
        database.transaction().execute(async (tx) => {
          const { id: appId } = await readApp(tx, id);
          const member = { appId, email: flags.email };
          const changed = await removeMember(tx, cliActor(), member);
          const revokedKeys = flags.revokeKeys ? await revokeKeysOf(tx, cliActor(), member) : 0;
          return { changed, revokedKeys };
        }),
      );
      const { changed, revokedKeys } = removed;
      const lines = changed ? ['Done.'] : ['Nothing to change.'];
      print(
        flags.json,
        removed,
        flags.revokeKeys ? [...lines, `Keys revoked: ${revokedKeys}`] : lines,
      );
    });
}

function printChange(json: boolean | undefined, changed: boolean): void {
  print(json, { changed }, [changed ? 'Done.' : 'Nothing to change.']);
}
