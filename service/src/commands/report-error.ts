/** Says on standard error why a command ended as it did, in words or as JSON, and gives its exit code. */
import { CommanderError } from 'commander';
import { ServiceError, StartError, type Issue } from '../errors.ts';
import { escapeLines, toJsonLine } from './escape-controls.ts';

type Report = { code: string; message: string; details: Record<string, unknown> };

/** Help and version that were asked for are no errors; what commander has said is not said again. */
export function reportError(error: unknown, json: boolean): number {
  if (error instanceof CommanderError && error.exitCode === 0) return 0;
  if (json) console.error(toJsonLine({ error: toReport(error) }));
  else if (!(error instanceof CommanderError)) console.error(escapeLines(inWords(error)));
  return error instanceof CommanderError ? 2 : 1;
}

/** The same object as in the API's error envelope, with two codes that only a command has. */
function toReport(error: unknown): Report {
  if (error instanceof ServiceError) {
    const { code, details } = error;
    return { code, message: explain(error), details };
  }
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof CommanderError) {
    const words =
      error.code === 'commander.help' ? 'a command is missing; --help names them' : message;
    return { code: 'wrong_words', message: words.replace(/^error: /, ''), details: {} };
  }
  const code = error instanceof StartError ? 'cannot_start' : 'internal_error';
  return { code, message, details: {} };
}

function inWords(error: unknown): string {
  if (error instanceof StartError) return error.message;
  if (error instanceof ServiceError) return explain(error);
  // The stack alone: the other fields of a database's error may show rows.
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function explain({ message, details }: ServiceError): string {
  const issues = details['issues'] as Issue[] | undefined;
  if (!issues) return message;
  return issues.map(({ path, message: fault }) => `${path} ${fault}`).join('\n');
}
