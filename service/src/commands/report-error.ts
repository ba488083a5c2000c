/** Reports on standard error why a command failed, as text or as JSON, and returns its exit code. */
import { CommanderError } from 'commander';
import { escapeLines, toJsonLine } from '@orgdir/client/command/escape-controls';
import { ServiceError, StartError, type Issue } from '../errors.ts';

/** Invalid arguments that commander does not see: exit code 2, and `invalid_arguments` as JSON. */
export class ArgumentsError extends ServiceError {
  constructor(...issues: Issue[]) {
    super('validation_failed', undefined, { details: { issues } });
  }
}

type Report = { code: string; message: string; details: Record<string, unknown> };

/** Help and version are not errors, and commander has already printed its own messages. */
export function reportError(error: unknown, json: boolean): number {
  if (error instanceof CommanderError && error.exitCode === 0) return 0;
  if (json) console.error(toJsonLine({ error: toReport(error) }));
  else if (!(error instanceof CommanderError)) console.error(escapeLines(formatError(error)));
  return error instanceof CommanderError || error instanceof ArgumentsError ? 2 : 1;
}

/** The error object of the API, with two codes that only commands use. */
function toReport(error: unknown): Report {
  if (error instanceof ServiceError) {
    const { details } = error;
    const code = error instanceof ArgumentsError ? 'invalid_arguments' : error.code;
    return { code, message: formatServiceError(error), details };
  }
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof CommanderError) {
    const words =
      error.code === 'commander.help'
        ? 'no command given; run with --help to list the commands'
        : message;
    return { code: 'invalid_arguments', message: words.replace(/^error: /, ''), details: {} };
  }
  const code = error instanceof StartError ? 'cannot_start' : 'internal_error';
  return { code, message, details: {} };
}

function formatError(error: unknown): string {
  if (error instanceof StartError) return error.message;
  if (error instanceof ServiceError) return formatServiceError(error);
  // Only the stack: other fields of a database error may hold rows.
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function formatServiceError({ message, details }: ServiceError): string {
  const issues = details['issues'] as Issue[] | undefined;
  if (!issues) return message;
  return issues.map(({ path, message: fault }) => `${path} ${fault}`).join('\n');
}
