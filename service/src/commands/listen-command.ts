import type { Command } from 'commander';
import type { ListenFlags } from './listen.ts';
import { gather, httpAddress, identifier, wholeNumber } from './read-option.ts';

export function addListenCommand(program: Command): void {
  program
    .command('listen')
    .description(
      'Receive deliveries on this machine, verify both signatures and print each one, until Ctrl-C.',
    )
    .option(
      '--port <port>',
      'where to listen on 127.0.0.1; 0: any that is free',
      wholeNumber(0, 65_535),
      4000,
    )
    .option(
      '--secret <secret>',
      'verify with this secret, whsec_…; may be given several times; - reads them from standard input, one a line',
      gather,
    )
    .option(
      '--status <status>',
      'answer with this HTTP status, such as 500 to see retries',
      wholeNumber(200, 599),
      200,
    )
    .option('--register', 'be a webhook of an app for as long as this runs; needs --app or --key')
    .option('--app <id>', 'the app, with access to the database of the service', identifier)
    .option(
      '--key <key>',
      'a key of the app with the scope write:webhooks, over the API; - reads it from standard input',
    )
    .option('--service <url>', 'where that API is', httpAddress, 'http://127.0.0.1:3000')
    .option(
      '--event <name>',
      'register for this event; may be given several times (default: all that the app may have)',
      gather,
    )
    .option('--json', 'print JSON: a line with the address, then one for each delivery')
    .addHelpText(
      'after',
      `
The signatures are X-…-Signature (over the body) and Standard Webhooks (over id, time and body; at most 300 s old).
With --register the secret is a new one, never shown, and the webhook is deleted at the end. The service must be allowed
to send here: WEBHOOK_ALLOWED_NETWORKS=127.0.0.0/8 WEBHOOK_ALLOW_HTTP=true.

Examples:
  orgdir listen --secret whsec_…
  orgdir listen --register --app 0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f --event org.created
  orgdir listen --register --key - --service http://127.0.0.1:3000 < key.txt
  orgdir listen --status 500`,
    )
    .action(async (flags: ListenFlags, command: Command) => {
      const { listen } = await import('./listen.ts');
      await listen(flags, command);
    });
}
