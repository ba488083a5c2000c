/** What the three nouns share when a row becomes an object of the wire. */
import type { Organisation } from '../contract/organisation.ts';

export type StoredLinks = Partial<Organisation['links']>;

export function iso(time: Date | null): string | null {
  return time === null ? null : time.toISOString();
}

/** `jsonb` keeps no order of keys and may lack some; the wire has all four, in this order. */
export function linksOf(stored: StoredLinks): Organisation['links'] {
  return {
    website: stored.website ?? null,
    chat: stored.chat ?? null,
    video: stored.video ?? null,
    social: stored.social ?? null,
  };
}
