/** The slug of the organisation or alliance that an event is about, as users type it. */
import { slugPattern } from '../../../service/src/contract/patterns.ts';

export const subjectLabel = 'Slug of the organisation or alliance';
export const subjectFault = 'Enter a slug: letters, digits and hyphens, such as acme-corporation';
/** For the `pattern` of a field. */
export const subjectPattern = String.raw`\s*${slugPattern.slice(1, -1).replaceAll('a-z', 'a-zA-Z')}\s*`;

const slug = new RegExp(slugPattern);

/** Null for a text that is no slug. */
export function toSubject(text: string): string | null {
  const lower = text.trim().toLowerCase();
  return slug.test(lower) ? lower : null;
}
