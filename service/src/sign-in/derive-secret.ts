import { hkdfSync } from 'node:crypto';

/**
 * What signs the cookies and links of sign-in, from the first key of SECRET_KEY, so that one secret is enough to keep.
 * Another first key ends the sessions; accounts and passwords do not hang on it.
 */
export function deriveSecret([newest]: readonly Buffer[]): string {
  if (!newest) throw new Error('sign-in needs a key');
  return Buffer.from(hkdfSync('sha256', newest, '', 'orgdir sign-in v1', 32)).toString('base64');
}
