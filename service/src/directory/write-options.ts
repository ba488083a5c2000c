import type { Actor } from '../access/actor.ts';

/** The options of a write of one entry. */
export type WriteOptions<Entry> = {
  actor: Actor;
  /** The base of addresses in events and in the returned entry. */
  publicUrl: string;
  /** Called under the row's lock with the current entry, or null. Throws if the caller saw another version. */
  check: (current: Entry | null) => void;
};
export type Written<Entry> = { created: boolean; entry: Entry };
