/** Why a run of a sync failed: a class for programs, and words for people. Neither ever holds a secret or a payload. */

export type FailureReason =
  /** The source could not be asked, or gave no answer. */
  | 'unreachable'
  /** It answered something else than its content. */
  | 'refused'
  /** It ended before its end. */
  | 'cut_off'
  | 'too_large'
  | 'too_slow'
  /** It is neither NDJSON nor a JSON array. */
  | 'malformed'
  | 'empty'
  /** It would retire more than half of the active blueprints. */
  | 'shrunk'
  | 'bad_rows'
  /** The provider does not accept the token. */
  | 'unauthorized'
  /** The provider answered for no server at all. */
  | 'unavailable'
  /** The process stopped. */
  | 'stopped'
  /** The process ended without a word. */
  | 'interrupted'
  | 'internal';

/** What was left out of a run: a row of the source, or an organisation's chat server. */
export type Problem = { subject: string; reason: string };

/** Thrown inside a run to undo it; the run is recorded as failed with these words. */
export class SyncFailure extends Error {
  override readonly name = 'SyncFailure';
  readonly reason: FailureReason;
  readonly problems: Problem[];

  constructor(
    reason: FailureReason,
    message: string,
    options: { problems?: Problem[]; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.reason = reason;
    this.problems = options.problems ?? [];
  }
}
