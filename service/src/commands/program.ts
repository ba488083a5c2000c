/** All commands of `orgdir`, their output and their exit codes: 0 done, 1 refused or failed, 2 invalid arguments. */
import { Command, CommanderError, type OutputConfiguration } from 'commander';
import { invalid } from '../errors.ts';
import { readCommit, version } from '../runtime/version.ts';
import { addAccessCommands } from './access-commands.ts';
import { addAccountCommands } from './account-commands.ts';
import { addAnnouncementCommands } from './announcement-commands.ts';
import { addAuditCommands } from './audit-commands.ts';
import { addDatabaseCommand } from './database-command.ts';
import { addDeliveryCommands } from './delivery-commands.ts';
import { addDirectoryCommands } from './directory-commands.ts';
import { addDoctorCommand } from './doctor-command.ts';
import { addEventCommands } from './event-commands.ts';
import { addExplainCommand } from './explain-command.ts';
import { addExportCommand } from './export-command.ts';
import { addListenCommand } from './listen-command.ts';
import { addBackupCommands } from './moving-commands.ts';
import { addOperatorCommands } from './operator-commands.ts';
import { addQuotaCommands } from './quota-commands.ts';
import { addReplayCommand } from './replay-command.ts';
import { reportError } from './report-error.ts';
import { addMigrateCommand } from './migrate-command.ts';
import { addServeCommand } from './serve-command.ts';
import { addSyncCommands } from './sync-commands.ts';
import { addUsageCommand } from './usage-command.ts';
import { addWebhookCommands } from './webhook-commands.ts';

const endings = `
Exit codes: 0 done, 1 refused or failed (standard error says why), 2 invalid arguments.
With --json, standard output has only JSON, and errors are JSON on standard error.
Settings come from the environment (.env.example); commands use the same database as the service.`;

/**
 * Runs one command and sets the exit code; the process exits only if a command requests it. `parent`: the id of the process
 * that started this one.
 */
export async function run(args: string[], parent: number): Promise<void> {
  const json = args.includes('--json');
  const output = watchOutput(json);
  // With --json, `reportError` reports invalid arguments, so commander must not print them too.
  const program = createProgram(json ? { writeErr: () => {} } : {}, parent);
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    process.exitCode = output.hasFailed() ? 1 : reportError(error, json);
  }
}

/** Commands copy the output settings when they are added, so the settings come first. */
export function createProgram(
  output: OutputConfiguration = {},
  parent: number = process.ppid,
): Command {
  const program = new Command('orgdir')
    .description('Run and manage the organisation directory service.')
    .exitOverride()
    .configureOutput(output)
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('(run with --help for usage)')
    .addHelpText('afterAll', endings);
  addVersionOption(program);
  addServeCommand(program, parent);
  addMigrateCommand(program);
  addDirectoryCommands(program);
  addExportCommand(program);
  addSyncCommands(program);
  addAccessCommands(program);
  addAccountCommands(program);
  addOperatorCommands(program);
  addEventCommands(program);
  addAnnouncementCommands(program);
  addAuditCommands(program);
  addUsageCommand(program);
  addQuotaCommands(program);
  addWebhookCommands(program);
  addDeliveryCommands(program);
  addExplainCommand(program);
  addReplayCommand(program);
  addListenCommand(program);
  addDatabaseCommand(program);
  addBackupCommands(program);
  addDoctorCommand(program);
  return program;
}

/** Commander's own option needs the text at every start, and the commit costs a call of git. */
function addVersionOption(program: Command): void {
  program.option('-V, --version', 'print the version and the commit').on('option:version', () => {
    const text = `${version} (${readCommit()})`;
    program.configureOutput().writeOut?.(`${text}\n`);
    throw new CommanderError(0, 'commander.version', text);
  });
}

/**
 * `orgdir … | head` closes the pipe early: the command goes on, and streaming stops by itself. Any other output error,
 * such as a full disk, is reported once, and the command still closes its database.
 */
function watchOutput(json: boolean) {
  let failed = false;
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE' || failed) return;
    failed = true;
    const fault = { path: 'standard output', message: `cannot be written (${code})` };
    process.exitCode = reportError(invalid(fault), json);
  });
  // An error on standard error cannot be reported anywhere.
  process.stderr.on('error', () => {});
  return { hasFailed: () => failed };
}
