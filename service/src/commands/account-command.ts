import type { Command } from 'commander';
import { readPublicUrl } from '../database/public-url.ts';
import { createAccountLink } from '../sign-in/accounts.ts';
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
}
