/** Why a run of a sync failed: a class for programs and a text for people. Neither contains a secret or a payload. */
import type { FailureReason, SyncProblem } from '../contract/sync-run.ts';

/** Thrown inside a run to roll it back; the run is recorded as failed with this message. */
export class SyncFailure extends Error {
  override readonly name = 'SyncFailure';
  readonly reason: FailureReason;
  readonly problems: SyncProblem[];

  constructor(
    reason: FailureReason,
    message: string,
    options: { problems?: SyncProblem[]; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.reason = reason;
    this.problems = options.problems ?? [];
  }
}
