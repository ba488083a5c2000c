import { invalid } from '../errors.ts';

/** Trims and lower-cases an address for comparison. Throws `validation_failed` if the text is not an address. */
export function normaliseEmail(text: string, path = 'email'): string {
  rejectFolding(text, path);
  const email = text.trim().toLowerCase();
  if (email.length <= 254 && /^[^\s@\0]+@[^\s@\0]+$/.test(email) && email.isWellFormed())
    return email;
  throw invalid({ path, message: 'must be an email address, such as ada@example.org' });
}

/**
 * KELVIN SIGN (U+212A) lower-cases to k, and U+0130 to i and a dot, which would turn one person's address into
 * another's.
 */
function rejectFolding(text: string, path: string): void {
  for (const character of text.match(/[^\0-\x7f]/gu) ?? []) {
    const [letter] = /[\0-\x7f]/.exec(character.toLowerCase()) ?? [];
    if (letter === undefined) continue;
    const name = `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`;
    const message = `must not contain ${name}, which is read as ${letter}; use that letter itself`;
    throw invalid({ path, message });
  }
}
