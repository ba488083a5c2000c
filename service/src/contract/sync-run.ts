import { Type, type Static } from 'typebox';
import { nullable, strictObject, time, uuid } from './shapes.ts';

const Problem = strictObject(
  {
    subject: Type.String({
      description: 'A row of the source, or the slug of an organisation.',
      examples: ['line 12'],
    }),
    reason: Type.String({ description: 'Why it was left out.', examples: ['name is required'] }),
  },
  { title: 'SyncProblem', description: 'What a run left out.' },
);
export type SyncProblem = Static<typeof Problem>;

const failureReasons = [
  /** The source could not be asked, or gave no answer. */
  'unreachable',
  /** It answered something else than its content. */
  'refused',
  /** It ended before its end. */
  'cut_off',
  'too_large',
  'too_slow',
  /** It is neither NDJSON nor a JSON array. */
  'malformed',
  'empty',
  /** It would retire more than half of the active blueprints. */
  'shrunk',
  'bad_rows',
  /** The provider does not accept the token. */
  'unauthorized',
  /** The provider answered for no server at all. */
  'unavailable',
  /** The process stopped. */
  'stopped',
  /** The process ended without a word. */
  'interrupted',
  'internal',
] as const;

export const SyncRun = strictObject(
  {
    id: uuid(),
    kind: Type.Enum(['blueprints', 'chat'], { type: 'string', description: 'Which sync.' }),
    source: Type.String({
      description: 'Where it reads from, without credentials and query.',
      examples: ['https://example.org/blueprints.ndjson'],
    }),
    trigger: Type.Enum(['schedule', 'cli', 'api'], {
      type: 'string',
      description: 'Who asked for it.',
    }),
    status: Type.Enum(['running', 'succeeded', 'failed'], {
      type: 'string',
      description: 'A run that failed has changed nothing.',
    }),
    startedAt: time({ description: 'When it began.' }),
    finishedAt: nullable(
      time({ description: 'When it ended; null: it is under way, or ended without a word.' }),
    ),
    durationMs: nullable(
      Type.Integer({ minimum: 0, description: 'How long it took, in milliseconds.' }),
    ),
    counts: Type.Unsafe<Record<string, number> | null>({
      type: ['object', 'null'],
      additionalProperties: { type: 'integer', minimum: 0 },
      description:
        'Of a run that succeeded, as in its event. Blueprints: total, created, updated, retired, unchanged, failed. Chat: orgs, updated, unchanged, failed, members, all of listed organisations.',
    }),
    version: nullable(
      Type.String({ description: 'The release that the source names.', examples: ['1.21.4'] }),
    ),
    reason: nullable(
      Type.Enum([...failureReasons], {
        type: 'string',
        description: 'Of a run that failed: why, for programs.',
      }),
    ),
    message: nullable(Type.String({ description: 'The same, for people.' })),
    problems: Type.Array(Problem, {
      maxItems: 100,
      description: 'What it left out: the first hundred.',
    }),
  },
  { title: 'SyncRun', description: 'One run of a sync.' },
);
export type SyncRun = Static<typeof SyncRun>;
export type SyncKind = SyncRun['kind'];
export type FailureReason = (typeof failureReasons)[number];
