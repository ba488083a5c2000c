/** All commands of `orgdir`, their output and their exit codes: 0 done, 1 refused or failed, 2 invalid arguments. */
import { Command, CommanderError, type OutputConfiguration } from 'commander';
import { invalid } from '../errors.ts';
import { readCommit, version } from '../runtime/version.ts';
import { reportError } from './report-error.ts';

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
  const quiet = json ? { writeErr: () => {} } : {};
  try {
    const program = await createProgram(args, quiet, parent);
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    process.exitCode = output.hasFailed() ? 1 : reportError(error, json);
  }
}

type Add = (program: Command, parent: number) => void;

/** In the order of the help. Only the file of the command that runs is loaded: all of them take twice the time. */
const files: [names: string[], load: () => Promise<Add>][] = [
  [['serve'], async () => (await import('./serve-command.ts')).addServeCommand],
  [['migrate'], async () => (await import('./database-command.ts')).addMigrateCommand],
  [['import'], async () => (await import('./directory-commands.ts')).addDirectoryCommands],
  [['export'], async () => (await import('./export-command.ts')).addExportCommand],
  [['sync'], async () => (await import('./sync-commands.ts')).addSyncCommands],
  [['apps'], async () => (await import('./app-commands.ts')).addAppCommands],
  [['keys'], async () => (await import('./key-commands.ts')).addKeyCommands],
  [['managers'], async () => (await import('./app-commands.ts')).addManagerCommands],
  [['accounts'], async () => (await import('./account-commands.ts')).addAccountCommands],
  [['operators'], async () => (await import('./account-commands.ts')).addOperatorCommands],
  [['events', 'maintenance'], async () => (await import('./event-commands.ts')).addEventCommands],
  [
    ['announcements'],
    async () => (await import('./announcement-commands.ts')).addAnnouncementCommands,
  ],
  [['audit'], async () => (await import('./audit-commands.ts')).addAuditCommands],
  [['usage'], async () => (await import('./usage-commands.ts')).addUsageCommand],
  [['quotas'], async () => (await import('./usage-commands.ts')).addQuotaCommands],
  [['webhooks'], async () => (await import('./webhook-commands.ts')).addWebhookCommands],
  [['deliveries'], async () => (await import('./delivery-commands.ts')).addDeliveryCommands],
  [['explain'], async () => (await import('./delivery-commands.ts')).addExplainCommand],
  [['replay'], async () => (await import('./delivery-commands.ts')).addReplayCommand],
  [['listen'], async () => (await import('./listen-command.ts')).addListenCommand],
  [['database'], async () => (await import('./database-command.ts')).addDatabaseCommand],
  [['backup', 'restore'], async () => (await import('./database-command.ts')).addBackupCommands],
  [['doctor'], async () => (await import('./doctor-command.ts')).addDoctorCommand],
];

/**
 * The command that `args` begin with; all commands if they begin with none, and none for the version alone. Commands copy the
 * output settings when they are added, so the settings come first.
 */
export async function createProgram(
  args: string[],
  output: OutputConfiguration = {},
  parent: number = process.ppid,
): Promise<Command> {
  const program = new Command('orgdir')
    .description('Run and manage the organisation directory service.')
    .exitOverride()
    .configureOutput(output)
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('(run with --help for usage)')
    .addHelpText('afterAll', endings);
  addVersionOption(program);
  if (args.length === 1 && /^(-V|--version)$/.test(args[0] ?? '')) return program;
  const own = files.filter(([names]) => names.includes(args[0] ?? ''));
  for (const [, load] of own.length > 0 ? own : files) (await load())(program, parent);
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
