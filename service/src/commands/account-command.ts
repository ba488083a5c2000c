import type { Command } from 'commander';
import { createAccountLink } from '../sign-in/accounts.ts';
import { cliActor } from './cli-actor.ts';
import { print, withDatabase } from './with-database.ts';

export function addAccountCommand(program: Command): void {
  const account = program.command('account').description('Accounts of the developer portal.');
  account
    .command('link')
    .argument('<email>', 'the address of the account, existing or new')
    .description(
      'Print a link that sets the password of an account, or creates it. It works once, for an hour, and replaces an earlier one.',
    )
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  orgdir account link ada@example.org')
    .action(async (email: string, { json }: { json?: boolean }) => {
      const link = await withDatabase(({ database }, { publicUrl }) =>
        database
          .transaction()
          .execute((tx) => createAccountLink(tx, cliActor(), { email, publicUrl })),
      );
      const purpose = link.hasAccount ? 'choose a new password' : 'create the account';
      print(json, link, [`Link for ${link.email} to ${purpose}, once, within an hour:`, link.url]);
    });
}
