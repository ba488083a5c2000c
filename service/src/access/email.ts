import { invalid } from '../errors.ts';

/** Addresses are compared trimmed and in lower case. Throws `validation_failed` if the text is not an address. */
export function normaliseEmail(text: string, path = 'email'): string {
  const email = text.trim().toLowerCase();
  if (email.length <= 254 && /^[^\s@\0]+@[^\s@\0]+$/.test(email) && email.isWellFormed())
    return email;
  throw invalid({ path, message: 'must be an email address, such as ada@example.org' });
}
