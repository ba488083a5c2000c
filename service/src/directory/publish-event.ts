/** Publishes one event for an operator, in the caller's transaction if there is one. */
import type { Executor } from '../database/database.ts';
import { preparePublication, type Publication } from './prepare-publication.ts';
import { storePublications } from './store-publications.ts';

/** Returns the event's id. Throws `validation_failed`, `not_found`, and `conflict` if the subject is not public. */
export async function publishEvent(executor: Executor, publication: Publication): Promise<string> {
  const prepared = await preparePublication(executor, publication, null);
  const [result] = await storePublications(executor, [prepared]);
  if (result?.kind === 'published') return result.id;
  throw result?.kind === 'failed' ? result.error : new Error('the event was not stored');
}
