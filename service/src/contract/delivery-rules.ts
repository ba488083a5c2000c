/**
 * How often a delivery is attempted before it fails (docs/reference/deliveries.md#retries). A test compares this number
 * with the CHECK on `cycle_attempts` and with the documentation.
 */
export const attemptsMax = 6;

const numerals = [
  'no',
  'one',
  'two',
  'three',
  'four',
  'five',
  'six',
  'seven',
  'eight',
  'nine',
  'ten',
];
export const attemptsMaxInWords = numerals[attemptsMax] ?? String(attemptsMax);

/** Success is any 2xx status within the deadline, with any body. */
export function isSuccess(attempt: { statusCode: number | null; error: string | null }): boolean {
  const { statusCode, error } = attempt;
  return error === null && statusCode !== null && statusCode >= 200 && statusCode <= 299;
}
