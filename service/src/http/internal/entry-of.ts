import { envelope } from '../../contract/envelope.ts';
import { toEntry, type Entry } from '../responses/response-cache.ts';

/** A resource as bytes, with the tag that `If-Match` is compared with. */
export function entryOf(data: object): Entry {
  return toEntry(0, envelope(data));
}
