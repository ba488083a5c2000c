import { type Command, Option } from 'commander';
import type { Transaction } from '../database/database.ts';
import { readPublicUrl } from '../database/public-url.ts';
import {
  createDeletionNotice,
  createNotice,
  keepNotice,
  type NoticeText,
} from '../sign-in/account-mail.ts';
import { createAccountLink, deleteAccount } from '../sign-in/accounts.ts';
import { recordActivity } from '../sign-in/activity.ts';
import { listAccounts, lockAccount, readAccount } from '../sign-in/list-accounts.ts';
import { removeSecondFactor } from '../sign-in/second-factor.ts';
import { endSessions } from '../sign-in/sessions.ts';
import type { Config } from '../settings/config.ts';
import {
  everybody,
  listSignUpBlocks,
  readPattern,
  setSignUpBlock,
} from '../sign-in/sign-up-blocks.ts';
import {
  addCommand,
  checkedBy,
  collect,
  parseEmail,
  parseId,
  parsePath,
  type CommandSpec,
} from './parse-option.ts';
import { cliActor, table } from './with-database.ts';
import { addSuspension } from './suspension-commands.ts';
import { writeFileAtomically } from './write-atomically.ts';
import { operatorRoles, type OperatorRole } from '../contract/console.ts';
import { listOperators, removeOperator, setOperator } from '../sign-in/operators.ts';

/** For the argument of each command about one account. */
const account = {
  argument: ['<account>', 'id or email address of the account'],
  example: 'ada@example.org',
} as const satisfies Partial<CommandSpec>;
/** No list of these commands searches the directory. */
const search = { find: () => Promise.resolve(null) };

export function addAccountCommands(program: Command): void {
  const accounts = program
    .command('accounts')
    .description('Manage accounts of the developer portal, and who may sign up.');
  addReads(accounts);
  addExport(accounts);
  addCredentials(accounts);
  addSuspension(accounts, 'account');
  addDeletion(accounts);
  addSignUp(accounts);
}

const accountsListedMax = 1_000;

function addReads(accounts: Command): void {
  addCommand<{ search: string; suspended?: boolean }>(accounts, {
    name: 'list',
    description: `List accounts, newest first, at most ${accountsListedMax}.`,
    options: [
      ['--search <text>', 'only those whose address or name contains this', String, ''],
      ['--suspended', 'only suspended ones'],
    ],
    example: '--search @example.org',
    async act({ database, flags }) {
      const { suspended = false } = flags;
      const wanted = { search: flags.search, suspended, page: 1, limit: accountsListedMax };
      const { accounts: found } = await listAccounts(database, wanted);
      const rows = found.map((one) => [
        one.id,
        one.email,
        one.name,
        one.createdAt.toISOString(),
        one.suspendedAt === null ? 'active' : 'suspended',
      ]);
      return [found, table(['ID', 'ADDRESS', 'NAME', 'CREATED', 'STATE'], rows)];
    },
  });
  addCommand(accounts, {
    ...account,
    name: 'show',
    description: 'Show an account with its ways to sign in and its apps.',
    async act({ database, given }) {
      const found = await readAccount(database, given);
      const { id, email, name, createdAt, methods, apps, suspendedAt, suspendedReason } = found;
      const rows = [
        ['Account', `${id} (${name})`],
        ['Address', email],
        ['Created', createdAt.toISOString()],
        ['Signs in with', methods.map(({ provider }) => provider).join(', ') || 'nothing'],
        ['Second factor', found.hasSecondFactor ? 'yes' : 'no'],
        ['Sessions', String(found.sessionCount)],
        ['Suspended', suspendedAt ? `${suspendedAt.toISOString()}: ${suspendedReason}` : 'no'],
        ...apps.map((app) => ['App', `${app.id} (${app.name}), ${app.role}`]),
      ];
      return [found, table(['', ''], rows).slice(1)];
    },
  });
}

function addExport(accounts: Command): void {
  addCommand<{ file: string }>(accounts, {
    ...account,
    name: 'export',
    description:
      'Write the data about a user to a file that only you can read, as the user gets it in the portal.',
    options: [['--file <file>', 'file to write', parsePath, 'account.json']],
    async act({ database, given, flags: { file } }) {
      const { id, email } = await readAccount(database, given);
      // Loaded here, because it brings the operations of the portal, which no help needs.
      const { writeExport } = await import('../http/portal/account-export.ts');
      const parts = writeExport({ database, search, account: { id, email, sessionId: null } });
      await writeFileAtomically(file, async (write) => {
        for await (const part of parts) await write(part);
      });
      return [{ id, email, file }, [`Data about ${email} written to ${file}.`]];
    },
  });
}

function addCredentials(accounts: Command): void {
  addCommand(accounts, {
    ...account,
    name: 'link',
    argument: ['<email>', 'email address of an existing or new account', parseEmail],
    description:
      'Create a link that sets the password of an account, or creates the account, even if its address may not sign up. It works once, within an hour, and replaces an earlier link.',
    async act({ change, given, config }) {
      const link = await change(async (tx) => {
        const publicUrl = await readPublicUrl(tx, config.publicUrl);
        return createAccountLink(tx, cliActor(), { email: given, publicUrl });
      });
      const purpose = link.hasAccount ? 'choose a new password' : 'create the account';
      const title = `Link for ${link.email} to ${purpose}. It works once, within an hour:`;
      return [link, [title, link.url]];
    },
  });
  addCommand(accounts, {
    ...account,
    name: 'remove-second-factor',
    argument: ['<email>', 'email address of an account, or the name that its provider gives it'],
    description:
      'Remove the passkeys, the authenticator app and the recovery codes of an account, and end all its sessions. For users who have lost them: verify who is asking.',
    async act({ database, change, given, config }) {
      const publicUrl = await readPublicUrl(database, config.publicUrl);
      const notice = createNotice(
        { ...config, publicUrl },
        'The operator removed the second factor of your account: passkeys, authenticator app and recovery codes. All your sessions were ended.',
      );
      const done = await change(async (tx) => {
        const removed = await removeSecondFactor(tx, cliActor(), given);
        return { ...removed, mailed: await mailNotice(tx, config, removed.email, notice) };
      });
      return [
        done,
        [
          `Removed ${done.passkeys} passkeys and ${done.authenticator ? 'the' : 'no'} authenticator app of ${done.email}, and ended ${done.endedSessions} sessions.`,
          mailedLine(done.email, done.mailed),
        ],
      ];
    },
  });
  addCommand(accounts, {
    ...account,
    name: 'end-sessions',
    description: 'End all sessions of an account: its user has to sign in again.',
    async act({ change, given }) {
      const ended = await change(async (tx) => {
        const found = await lockAccount(tx, given);
        const count = await endSessions(tx, found.id, null);
        const details = { actor: cliActor(), count };
        if (count > 0) await recordActivity(tx, 'account.sessions_ended', found, details);
        return { ...found, endedSessions: count };
      });
      return [ended, [`Ended ${ended.endedSessions} sessions of ${ended.email}.`]];
    },
  });
}

/** Has the service mail it, once the transaction has committed. Returns whether it will: otherwise the operator has to notify the user. */
async function mailNotice(
  tx: Transaction,
  { mail }: Pick<Config, 'mail'>,
  to: string,
  notice: NoticeText,
): Promise<boolean> {
  return mail !== null && keepNotice(tx, to, notice);
}

function mailedLine(email: string, mailed: boolean): string {
  return mailed ? `The service mails ${email}.` : 'No mail is sent: notify the user.';
}

function addDeletion(accounts: Command): void {
  addCommand<{ yes?: boolean; app: string[] }>(accounts, {
    ...account,
    name: 'delete',
    description:
      'Show what goes with an account; with --yes, delete it with its sessions, ways to sign in and the apps without another owner, except suspended ones. This cannot be undone.',
    options: [
      ['--yes', 'delete it'],
      [
        '--app <id>',
        'an app that is deleted with it; repeat for each one',
        (text, earlier) => collect(parseId(text), earlier as string[]),
        [],
      ],
    ],
    async act({ database, change, given, flags, config }) {
      const found = await readAccount(database, given);
      const { id, email } = found;
      const { previewDeletion } = await import('../http/portal/account-deletion.ts');
      const preview = await previewDeletion({ database, search }, email);
      const { appsToDelete, appsToLeave, endingBindings, managedCount } = preview;
      const lines = [
        `With ${email}, these go:`,
        ...appsToDelete.map(
          (app) =>
            `  app ${app.id} (${app.name}): ${app.keyCount} keys, ${app.webhookCount} webhooks, ${app.pendingDeliveryCount} pending deliveries, ${app.otherMemberCount} other members`,
        ),
        ...endingBindings.map(({ appName, slug }) => `  the binding of ${appName} to ${slug}`),
        ...appsToLeave.map((app) => `  access to app ${app.id} (${app.name}), which stays`),
        `The address stays a manager of ${managedCount} organisations and alliances.`,
        `To delete:  npx orgdir accounts delete ${email} --yes${appsToDelete.map((app) => ` --app ${app.id}`).join('')}`,
      ];
      const deleted = flags.yes === true;
      if (!deleted) return [{ id, email, deleted, ...preview }, lines];
      const mailed = await change(async (tx) => {
        await deleteAccount(tx, found, flags.app, cliActor());
        return mailNotice(tx, config, email, createDeletionNotice(config));
      });
      return [
        { id, email, deleted, mailed, ...preview },
        [`Deleted ${email}.`, mailedLine(email, mailed)],
      ];
    },
  });
}

const pattern: CommandSpec['argument'] = [
  '<pattern>',
  'an address, or a domain',
  checkedBy(readPattern),
];

function addSignUp(accounts: Command): void {
  for (const [name, argument, description] of [
    [
      'block',
      pattern,
      'Let nobody sign up with an address, or with any address of a domain and its subdomains. Existing accounts stay: suspend them.',
    ],
    ['unblock', pattern, 'Let them sign up again.'],
    [
      'close-sign-up',
      undefined,
      'Let nobody sign up. `orgdir accounts link` still creates accounts.',
    ],
    ['open-sign-up', undefined, 'Let people sign up again.'],
  ] as const)
    addCommand(accounts, {
      name,
      description,
      ...(argument && { argument, example: 'example.org' }),
      async act({ change, given }) {
        const isBlocked = name === 'block' || name === 'close-sign-up';
        const subject = argument ? given : everybody;
        const done = await change((tx) => setSignUpBlock(tx, cliActor(), subject, isBlocked));
        return [done, [done.changed ? 'Done.' : 'Nothing to change.']];
      },
    });
  addCommand(accounts, {
    name: 'blocks',
    description: 'List who may not sign up. `*` stands for everybody.',
    async act({ database }) {
      const found = await listSignUpBlocks(database);
      const rows = found.map((one) => [one.pattern, one.createdAt.toISOString()]);
      return [found, table(['ADDRESS OR DOMAIN', 'SINCE'], rows)];
    },
  });
}

/** Who may open the console. */
export function addOperatorCommands(program: Command): void {
  const operators = program
    .command('operators')
    .description(
      'Say who may open the console at /profile/operator. Without operators there is none.',
    );
  addCommand<{ role: OperatorRole }>(operators, {
    name: 'add',
    description:
      'Name an operator, or change the role. The account needs a second factor from then on.',
    argument: account.argument,
    options: [
      new Option('--role <role>', 'read-only sees everything and changes nothing')
        .choices(operatorRoles)
        .default('read-only'),
    ],
    example: `${account.example} --role operator`,
    async act({ change, given, flags: { role } }) {
      const wanted = { account: given, role };
      const changed = await change((tx) => setOperator(tx, cliActor(), wanted));
      return [{ changed }, [changed ? `${given} has the role ${role} now.` : 'Nothing to change.']];
    },
  });
  addCommand(operators, {
    name: 'list',
    description: 'List the operators, oldest first.',
    act: async ({ database }) => {
      const found = await listOperators(database);
      const rows = found.map(({ id, email, role, hasSecondFactor, createdAt }) => [
        id,
        email,
        role,
        hasSecondFactor ? 'yes' : 'no',
        createdAt.toISOString(),
      ]);
      return [found, table(['ID', 'EMAIL', 'ROLE', 'SECOND FACTOR', 'SINCE'], rows)];
    },
  });
  addCommand(operators, {
    ...account,
    name: 'remove',
    description: 'Take the role away, also from sessions that are open.',
    act: async ({ change, given }) => {
      const changed = await change((tx) => removeOperator(tx, cliActor(), given));
      return [{ changed }, [changed ? `${given} is no longer an operator.` : 'Nothing to change.']];
    },
  });
}
