import { OrgdirError } from './orgdir-error.ts';

/** No whole answer came within `timeoutMs`. What was asked for may have been done nevertheless. */
export class TimeoutError extends OrgdirError {
  override readonly name = 'TimeoutError';
  readonly timeoutMs: number;

  constructor(message: string, timeoutMs: number) {
    super(message);
    this.timeoutMs = timeoutMs;
  }
}
