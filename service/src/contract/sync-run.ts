import { Type, type Static } from 'typebox';
import { nullable, strictObject, time, uuid, state, enumOf, count, text } from './shapes.ts';

const Problem = strictObject(
  {
    subject: text('The row of the source, or the slug of the organisation.', 'line 12'),
    reason: text('Why it was skipped.', 'name is required'),
  },
  { title: 'SyncProblem', description: 'A row or organisation that a run skipped.' },
);
export type SyncProblem = Static<typeof Problem>;

const failureReasons = [
  /** The source did not respond. */
  'unreachable',
  /** The source responded with an error. */
  'refused',
  /** The response ended early. */
  'cut_off',
  'too_large',
  'too_slow',
  /** The content is neither NDJSON nor a JSON array. */
  'malformed',
  'empty',
  /** It would retire more than half of the active blueprints. */
  'shrunk',
  'bad_rows',
  /** The provider does not accept the token. */
  'unauthorized',
  /** The provider returned no server at all. */
  'unavailable',
  /** The process stopped. */
  'stopped',
  /** The process ended without recording a result. */
  'interrupted',
  'internal',
] as const;

export const SyncRun = strictObject(
  {
    id: uuid(),
    kind: enumOf(['blueprints', 'chat'], 'The kind of sync.'),
    source: text(
      'The source of the data, without credentials and query.',
      'https://example.org/blueprints.ndjson',
    ),
    trigger: enumOf(['schedule', 'cli', 'api'], 'What started the run.'),
    status: state(['running', 'succeeded', 'failed'], 'A failed run has changed nothing.'),
    startedAt: time({ description: 'When the run started.' }),
    finishedAt: nullable(
      time({ description: 'When the run ended. Null if it is running or was interrupted.' }),
    ),
    durationMs: nullable(count('The duration of the run in milliseconds.')),
    counts: Type.Unsafe<Record<string, number> | null>({
      type: ['object', 'null'],
      additionalProperties: { type: 'integer', minimum: 0 },
      description:
        'The counts of a succeeded run, as in its event. Blueprints: total, created, updated, retired, unchanged, failed. Chat, for listed organisations only: orgs, updated, unchanged, failed, members.',
    }),
    version: nullable(text('The release of the source.', '1.21.4')),
    reason: nullable(state([...failureReasons], 'A machine-readable reason why the run failed.')),
    message: nullable(
      Type.String({ description: 'A message for people that says why the run failed.' }),
    ),
    problems: Type.Array(Problem, {
      maxItems: 100,
      description: 'The first 100 skipped rows or organisations.',
    }),
  },
  { title: 'SyncRun', description: 'A run of a sync.' },
);
export type SyncRun = Static<typeof SyncRun>;
export type SyncKind = SyncRun['kind'];
export type FailureReason = (typeof failureReasons)[number];
