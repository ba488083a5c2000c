/** The patterns of texts, and what an error says of each. */

/** Lower-case ASCII words joined by single hyphens. */
export const slugPattern = '^[a-z0-9]+(-[a-z0-9]+)*$';
/** Visible ASCII, so that a header can hold it. */
export const idempotencyKeyPattern = '^[!-~]+$';
export const webAddressPattern = '^https?://';
export const namePattern = '\\S';
/** A bar separates aliases in a cell of a CSV file, which loses the spaces around it. */
export const aliasPattern = '^[^|\\s]([^|]*[^|\\s])?$';
/** As PostgreSQL takes and gives them. */
export const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
export const languagePattern = '^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$';

/** Control characters, line separators and characters that reverse the direction of text, for a character class. */
const control =
  '\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u2028\\u2029\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069';
export const plainTextPattern = `^[^${control}]*$`;
export const plainNamePattern = `^[^${control}]*[^\\s${control}][^${control}]*$`;

export const patternMessages: Record<string, string> = {
  [slugPattern]: 'must be lower-case ASCII letters and digits, in words joined by single hyphens',
  [idempotencyKeyPattern]: 'must be ASCII letters, digits and punctuation, without spaces',
  [webAddressPattern]: 'must begin with http:// or https://',
  [namePattern]: 'must not be only spaces',
  [aliasPattern]: 'must have no bar (|), and no spaces at its ends',
  [languagePattern]: 'must be a BCP 47 language tag, such as en or pt-BR',
  [plainTextPattern]: 'must have no control characters',
  [plainNamePattern]: 'must not be only spaces, and have no control characters',
};
