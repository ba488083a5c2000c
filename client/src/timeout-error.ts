import { OrgdirError } from './orgdir-error.ts';

/**
 * There was no complete response within `timeoutMs`, the limit of the attempt, or `totalTimeoutMs` if that ended first. The
 * service may have executed the request.
 */
export class TimeoutError extends OrgdirError {
  override readonly name = 'TimeoutError';
  readonly timeoutMs: number;

  constructor(message: string, timeoutMs: number) {
    super(message);
    this.timeoutMs = timeoutMs;
  }
}
