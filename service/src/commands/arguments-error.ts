import { ServiceError, type Issue } from '../errors.ts';

/** Invalid arguments that commander does not see: exit code 2, and `invalid_arguments` as JSON. */
export class ArgumentsError extends ServiceError {
  constructor(...issues: Issue[]) {
    super('validation_failed', undefined, { details: { issues } });
  }
}
