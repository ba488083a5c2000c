/** All commands of `orgdir`, what they print and how they end: 0 done, 1 refused or failed, 2 wrong words. */
import { Command, type OutputConfiguration } from 'commander';
import { invalid } from '../errors.ts';
import { version } from '../version.ts';
import { addAccessCommands } from './access-commands.ts';
import { addAccountCommand } from './account-command.ts';

import { addAuditCommands } from './audit-commands.ts';
import { addDatabaseCommand } from './database-command.ts';
import { addDeliveryCommands } from './delivery-commands.ts';
import { addDirectoryCommands } from './directory-commands.ts';
import { addDoctorCommand } from './doctor-command.ts';
import { addEventCommands } from './event-commands.ts';
import { addExportCommand } from './export-command.ts';
import { addListenCommand } from './listen-command.ts';
import { reportError } from './report-error.ts';
import { addServeCommand } from './serve-command.ts';
import { addSyncCommands } from './sync-commands.ts';
import { addWebhookCommands } from './webhook-commands.ts';

const endings = `
Ends with 0: done. 1: refused or failed, and standard error says why. 2: the words of the command are wrong.
With --json, standard output holds JSON and nothing else, and an error is JSON on standard error.
All settings come from the environment (.env.example), so that commands work on the service's own database.`;

/** Runs one command. Sets the exit code; ends the process only where a command says so. */
export async function run(args: string[]): Promise<void> {
  const json = args.includes('--json');
  const output = watchOutput(json);
  // With --json, what is wrong with the words is told below, once.
  const program = createProgram(json ? { writeErr: () => {} } : {});
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    process.exitCode = output.hasFailed() ? 1 : reportError(error, json);
  }
}

/** Commands take the output from the program, as it is when they are added. */
export function createProgram(output: OutputConfiguration = {}): Command {
  const program = new Command('orgdir')
    .description(
      'The organisation directory: its service, and the commands that feed and steer it.',
    )
    .version(version)
    .exitOverride()
    .configureOutput(output)
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('(add --help to see how)')
    .addHelpText('afterAll', endings);
  addServeCommand(program);
  addDirectoryCommands(program);
  addExportCommand(program);
  addSyncCommands(program);
  addAccessCommands(program);
  addAccountCommand(program);
  addEventCommands(program);
  addAuditCommands(program);
  addWebhookCommands(program);
  addDeliveryCommands(program);
  addListenCommand(program);
  addDatabaseCommand(program);
  addDoctorCommand(program);
  return program;
}

/**
 * `orgdir … | head`: who reads has enough. The command goes on to its end, and what streams stops by itself. Any other
 * fault of the output, such as a full disk, is told once, and the command ends in order too: it has a database to close.
 */
function watchOutput(json: boolean) {
  let failed = false;
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE' || failed) return;
    failed = true;
    const fault = { path: 'standard output', message: `cannot be written (${code})` };
    process.exitCode = reportError(invalid(fault), json);
  });
  // There is no other place to say it.
  process.stderr.on('error', () => {});
  return { hasFailed: () => failed };
}
