import type { Command } from 'commander';
import type { ListenFlags } from './listen.ts';
import { collect, parseHttpUrl, parseId, parseInteger } from './parse-option.ts';

export function addListenCommand(program: Command): void {
  program
    .command('listen')
    .description(
      'Deprecated, and gone in 2.0.0: receive deliveries on this machine with orgdir-client listen.',
    )
    .option('--port <port>', 'port on 127.0.0.1; 0: any free port', parseInteger(0, 65_535), 4000)
    .option(
      '--secret <secret>',
      'verify with this secret, whsec_…; may be repeated; - reads secrets from standard input, one per line',
      collect,
    )
    .option(
      '--status <status>',
      'respond with this HTTP status, such as 500 to see retries',
      parseInteger(200, 599),
      200,
    )
    .option(
      '--register',
      'register as a webhook of an app while this command runs; requires --app or --key',
    )
    .option('--app <id>', 'app to register with, directly in the database of the service', parseId)
    .option(
      '--key <key>',
      'API key with the scope write:webhooks to register with; - reads it from standard input',
    )
    .option(
      '--service <url>',
      'address of the service for --key',
      parseHttpUrl,
      'http://127.0.0.1:3000',
    )
    .option(
      '--event <name>',
      'subscribe to this event; may be repeated (default: all events that the app may have)',
      collect,
    )
    .option('--json', 'print JSON: a line with the address, then a line per delivery')
    .addHelpText(
      'after',
      `
The signatures are X-…-Signature (body) and Standard Webhooks (id, time and body; at most 300 s old). With --register
the webhook gets a new secret, which is never shown, and is deleted at the end. The service must be allowed to send to
this machine: WEBHOOK_ALLOWED_NETWORKS=127.0.0.0/8 WEBHOOK_ALLOW_HTTP=true.

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
