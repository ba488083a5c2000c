import type { Actor } from '../access/actor.ts';

/** What comes with a write of one entry. */
export type WriteOptions<Entry> = {
  actor: Actor;
  /** For the addresses in events and in what is read back. */
  publicUrl: string;
  /** Called under the row's lock with what is there, null for nothing. Throws where that is not what the caller saw. */
  check: (current: Entry | null) => void;
};
export type Written<Entry> = { created: boolean; entry: Entry };
