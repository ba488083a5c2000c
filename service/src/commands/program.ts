/** All commands of `orgdir`, what they print and how they end: 0 done, 1 refused or failed, 2 wrong words. */
import { Command, CommanderError } from 'commander';
import { ServiceError, StartError, type Issue } from '../errors.ts';
import { version } from '../version.ts';
import { addAccessCommands } from './access-commands.ts';
import { addDirectoryCommands } from './directory-commands.ts';
import { addEventCommands } from './event-commands.ts';
import { addServeCommand } from './serve-command.ts';
import { addWebhookCommands } from './webhook-commands.ts';

/** Runs one command. Sets the exit code; ends the process only where a command says so. */
export async function run(args: string[]): Promise<void> {
  const program = createProgram();
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    process.exitCode = report(error);
  }
}

export function createProgram(): Command {
  const program = new Command('orgdir')
    .description(
      'The organisation directory: its service, and the commands that feed and steer it.',
    )
    .version(version)
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('(add --help to see how)');
  addServeCommand(program);
  addDirectoryCommands(program);
  addAccessCommands(program);
  addEventCommands(program);
  addWebhookCommands(program);
  return program;
}

function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof StartError) console.error(error.message);
  else if (error instanceof ServiceError) console.error(explain(error));
  else console.error(error);
  return 1;
}

function explain({ message, details }: ServiceError): string {
  const issues = details['issues'] as Issue[] | undefined;
  if (!issues) return message;
  return issues.map(({ path, message: fault }) => `${path} ${fault}`).join('\n');
}
