import { envelope } from '../../contract/envelope.ts';
import { toEntry, type Entry } from '../response-cache.ts';

/** One resource as bytes with its tag, which `If-Match` is compared with. */
export function entryOf(data: object): Entry {
  return toEntry(0, envelope(data));
}
