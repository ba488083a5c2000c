/** What has changed since a cursor: `meta.changes` of a list with `changedSince`. */
import { Type } from 'typebox';
import { strictObject } from './shapes.ts';

export const ChangesMeta = strictObject(
  {
    removed: Type.Array(Type.String({ format: 'uuid' }), {
      description: 'The ids of entries that are not public any more.',
    }),
    nextCursor: Type.String({
      description: 'Send it as `changedSince` to get the next changes, now or later.',
    }),
    hasMore: Type.Boolean({ description: 'Whether there are more changes now.' }),
  },
  {
    title: 'ChangesMeta',
    description: 'What else has changed. Absent without `changedSince`.',
  },
);
