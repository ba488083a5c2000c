import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { readPublicUrl } from '../database/public-url.ts';
import type { Config } from '../config.ts';
import { createNotice } from '../sign-in/account-mail.ts';
import { createAccountLink } from '../sign-in/accounts.ts';
import { isProviderIdentity } from '../sign-in/provider-identity.ts';
import { removeSecondFactor } from '../sign-in/second-factor.ts';
import { cliActor } from './cli-actor.ts';
import { print, withDatabase } from './with-database.ts';

export function addAccountCommand(program: Command): void {
  const account = program
    .command('account')
    .description('Manage accounts of the developer portal.');
  account
    .command('link')
    .argument('<email>', 'email address of an existing or new account')
    .description(
      'Create a link that sets the password of an account, or creates the account. It works once, within an hour, and replaces an earlier link.',
    )
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  orgdir account link ada@example.org')
    .action(async (email: string, { json }: { json?: boolean }) => {
      const link = await withDatabase(({ database }, config) =>
        database.transaction().execute(async (tx) => {
          const publicUrl = await readPublicUrl(tx, config.publicUrl);
          return createAccountLink(tx, cliActor(), { email, publicUrl });
        }),
      );
      const purpose = link.hasAccount ? 'choose a new password' : 'create the account';
      print(json, link, [
        `Link for ${link.email} to ${purpose}. It works once, within an hour:`,
        link.url,
      ]);
    });
  account
    .command('remove-second-factor')
    .argument('<email>', 'email address of an account, or the name that its provider gives it')
    .description(
      'Remove the passkeys, the authenticator app and the recovery codes of an account, and end all its sessions. For users who have lost them: make sure who asks.',
    )
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  orgdir account remove-second-factor ada@example.org')
    .action(async (email: string, { json }: { json?: boolean }) => {
      const removed = await withDatabase(async ({ database }, config) => {
        const publicUrl = await readPublicUrl(database, config.publicUrl);
        const done = await database
          .transaction()
          .execute((tx) => removeSecondFactor(tx, cliActor(), email));
        return { ...done, mailed: await notify(done.email, { ...config, publicUrl }) };
      });
      const { passkeys, authenticator, endedSessions, mailed } = removed;
      print(json, removed, [
        `Removed ${passkeys} passkeys and ${authenticator ? 'the' : 'no'} authenticator app of ${removed.email}, and ended ${endedSessions} sessions.`,
        mailed ? 'The user was notified by mail.' : 'No mail was sent: notify the user.',
      ]);
    });
}

/** Returns whether the mail was sent. */
async function notify(email: string, config: Config): Promise<boolean> {
  if (!config.mail || isProviderIdentity(email)) return false;
  const { createMailer } = await import('../mail.ts');
  const mailer = createMailer(config.mail);
  const notice = createNotice(
    config,
    'The operator removed the second factor of your account: passkeys, authenticator app and recovery codes. All your sessions were ended.',
  );
  const { kind } = await mailer.send({ id: randomUUID(), to: email, ...notice });
  mailer.close();
  return kind === 'sent';
}
