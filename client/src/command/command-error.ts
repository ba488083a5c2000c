/** A failure that the command reports in one sentence, without a stack. It never quotes a secret. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  /** `invalid_arguments` exits with 2, all others with 1. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export function invalidArguments(message: string): CommandError {
  return new CommandError('invalid_arguments', message);
}

/** Something of this machine or of the service keeps the command from starting. */
export function cannotStart(message: string, options?: ErrorOptions): CommandError {
  return new CommandError('cannot_start', message, options);
}
