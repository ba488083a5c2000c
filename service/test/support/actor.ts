import type { Actor } from '../../src/access/actor.ts';

/** Who changes things in tests that do not ask who. */
export const testActor: Actor = { kind: 'system', id: null, name: 'test' };
