/** What better-auth throws, without what must not be logged. */
import { isConnectionFault } from '../database/database.ts';
import { ServiceError } from '../errors.ts';

/** Keeps where it failed and how, but not the message: a database's holds what was to be written, such as an address. */
export function throwWithoutDetails(error: unknown): never {
  if (error instanceof ServiceError || isConnectionFault(error)) throw error;
  const { name, code, stack = '' } = error as { name?: string; code?: string; stack?: string };
  const failure = new Error(`sign-in failed: ${[name, code].filter(Boolean).join(' ')}`);
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  failure.stack = [failure.message, ...frames].join('\n');
  throw failure;
}
