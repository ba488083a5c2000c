import type { Actor } from '../../src/access/actor.ts';

/** The default actor of changes in tests. */
export const testActor: Actor = { kind: 'system', id: null, name: 'test' };
