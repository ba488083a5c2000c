/** Apps, their members, and the managers of organisations and alliances, who may bind apps to them. */
import { Option, type Command } from 'commander';
import { type App, createApp, listApps, readApp, deleteApp, renameApp } from '../access/apps.ts';
import { bindApp, unbindApp } from '../access/bindings.ts';
import { revokeKeysOf } from '../access/keys.ts';
import { addManager, removeManager, type Subject } from '../access/managers.ts';
import { listMembers, removeMember, setMember } from '../access/members.ts';
import { appRoles, type AppRole } from '../contract/app-roles.ts';
import type { Executor } from '../database/database.ts';
import { findAlliance } from '../directory/alliances.ts';
import { findOrg } from '../directory/orgs.ts';
import { invalid, ServiceError } from '../errors.ts';
import { addCommand, exampleId, parseEmail, parseName, requiredOption } from './parse-option.ts';
import { addSuspension } from './suspension-commands.ts';
import { cliActor, table } from './with-database.ts';

export function addAppCommands(program: Command): void {
  const apps = program
    .command('apps')
    .description('Manage apps, which have members, keys and webhooks.');
  addCommand<{ name: string; owner: string } & SubjectFlags>(apps, {
    name: 'create',
    description: 'Create an app. With --org or --alliance, bind it to what its owner manages.',
    options: [
      requiredOption('--name <name>', 'name of the app', parseName),
      requiredOption('--owner <email>', 'email address of the first owner', parseEmail),
      ...subjectOptions('bind it to'),
    ],
    example: '--name "Herald" --owner ada@example.org --org acme-corporation',
    async act({ change, flags }) {
      const app = await change(async (tx) => {
        const subject = await findSubject(tx, flags);
        const id = await createApp(tx, cliActor(), flags);
        if (subject) await bindApp(tx, cliActor(), id, subject);
        return readApp(tx, id);
      });
      return [
        app,
        [
          `App ${app.id} (${app.name}) for ${app.owners.join(', ')}${boundTo(app)}`,
          `Create a key:  npx orgdir keys create --app ${app.id} --scope read:directory`,
        ],
      ];
    },
  });
  addCommand(apps, {
    name: 'list',
    description: 'List all apps, oldest first.',
    example: '--json',
    async act({ database }) {
      const found = await listApps(database);
      const rows = found.map((app) => [
        app.id,
        app.name,
        app.owners.join(', '),
        app.organizationSlug ?? app.allianceSlug ?? '-',
        app.suspendedReason === null ? 'active' : `suspended: ${app.suspendedReason}`,
      ]);
      return [found, table(['ID', 'NAME', 'OWNERS', 'BOUND TO', 'STATE'], rows)];
    },
  });
  addAppChanges(apps);
  addSuspension(apps, 'app');
  addMemberCommands(apps);
}

function boundTo({ organizationSlug, allianceSlug }: App): string {
  if (organizationSlug !== null) return `, bound to the organisation ${organizationSlug}`;
  return allianceSlug === null ? '' : `, bound to the alliance ${allianceSlug}`;
}

const argument = ['<id>', 'id of the app'] as const;

/** Those that change an existing app. */
function addAppChanges(apps: Command): void {
  addCommand(apps, {
    name: 'rename',
    description: 'Rename an app.',
    argument,
    secondArgument: ['<name>', 'new name', parseName],
    example: `${exampleId} "Town crier"`,
    async act({ change, given: id, second: name }) {
      const app = await change(async (tx) => {
        await renameApp(tx, cliActor(), id, name);
        return readApp(tx, id);
      });
      return [app, [`Renamed app ${app.id} to ${app.name}.`]];
    },
  });
  addBinding(apps);
  addCommand(apps, {
    name: 'delete',
    description: 'Delete an app with its keys, webhooks and deliveries. This cannot be undone.',
    argument,
    example: exampleId,
    async act({ change, given: id }) {
      await change((tx) => deleteApp(tx, cliActor(), id));
      return [{ id, deleted: true }, [`App ${id} is deleted.`]];
    },
  });
}

function addBinding(apps: Command): void {
  addCommand<SubjectFlags>(apps, {
    name: 'bind',
    description:
      'Bind an app to an organisation or alliance that one of its owners manages, so that it receives the internal events.',
    argument,
    options: subjectOptions('bind it to'),
    example: `${exampleId} --org acme-corporation`,
    check: checkSubjectOptions,
    async act({ change, given: id, flags }) {
      const app = await change(async (tx) => {
        await readApp(tx, id);
        await bindApp(tx, cliActor(), id, await requireSubject(tx, flags));
        return readApp(tx, id);
      });
      return [app, [`App ${id} is bound to ${app.organizationSlug ?? app.allianceSlug}.`]];
    },
  });
  addCommand(apps, {
    name: 'unbind',
    description: 'Unbind an app. Pending deliveries that depend on the binding are cancelled.',
    argument,
    example: exampleId,
    async act({ change, given: id }) {
      const changed = await change(async (tx) => {
        await readApp(tx, id);
        return unbindApp(tx, cliActor(), id);
      });
      return [
        { id, changed },
        [changed ? `App ${id} is no longer bound.` : `App ${id} was not bound.`],
      ];
    },
  });
}

const emailOption = () =>
  requiredOption('--email <email>', 'email address of the member', parseEmail);

function addMemberCommands(apps: Command): void {
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
  addMemberRemoval(members);
}

function addMemberRemoval(members: Command): void {
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

export function addManagerCommands(program: Command): void {
  const managers = program
    .command('managers')
    .description('Manage who may bind apps to organisations and alliances.');
  for (const [verb, write, description] of [
    ['add', addManager, 'Add a manager.'],
    ['remove', removeManager, 'Remove a manager and the bindings that they made.'],
  ] as const)
    addCommand<{ email: string } & SubjectFlags>(managers, {
      name: verb,
      description,
      options: [
        requiredOption('--email <email>', 'email address of the manager', parseEmail),
        ...subjectOptions('manager of'),
      ],
      example: '--org acme-corporation --email ada@example.org',
      check: checkSubjectOptions,
      async act({ change, flags }) {
        const changed = await change(async (tx) =>
          write(tx, cliActor(), await requireSubject(tx, flags), flags.email),
        );
        return [{ changed }, [changed ? 'Done.' : 'Nothing to change.']];
      },
    });
}

type SubjectFlags = { org?: string; alliance?: string };

/** `role` begins the help text of both options: `bind it to` this organisation. */
function subjectOptions(role: string): Option[] {
  return [
    new Option('--org <slug>', `${role} this organisation`).conflicts('alliance'),
    new Option('--alliance <slug>', `${role} this alliance`),
  ];
}

/** Exits with 2 if neither option was given. */
function checkSubjectOptions({
  flags: { org, alliance },
  command,
}: {
  flags: SubjectFlags;
  command: Command;
}): void {
  if (org === undefined && alliance === undefined)
    command.error("error: required option '--org <slug>' or '--alliance <slug>' not specified");
}

/** Returns null if neither option was given. Throws `validation_failed`, `not_found`. */
async function findSubject(tx: Executor, { org, alliance }: SubjectFlags): Promise<Subject | null> {
  if (org !== undefined && alliance !== undefined)
    throw invalid({ path: '--org', message: 'cannot be used with --alliance; use one of them' });
  if (org !== undefined) {
    const found = await findOrg(tx, org);
    if (!found) throw new ServiceError('not_found', `There is no organisation ${org}.`);
    return { kind: 'organization', id: found.id };
  }
  if (alliance === undefined) return null;
  const found = await findAlliance(tx, alliance);
  if (!found) throw new ServiceError('not_found', `There is no alliance ${alliance}.`);
  return { kind: 'alliance', id: found.id };
}

/** Like `findSubject`, but one of the options is required. */
async function requireSubject(tx: Executor, flags: SubjectFlags): Promise<Subject> {
  const subject = await findSubject(tx, flags);
  if (!subject) throw invalid({ path: '--org', message: 'or --alliance is required' });
  return subject;
}
