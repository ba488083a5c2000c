/** The rules of deliveries. The worker, the metrics, the portal and the texts all take them from here. */

/**
 * How often a delivery is attempted before it fails (docs/reference/deliveries.md#retries). The database's CHECK on `cycle_attempts` and the texts in
 * the documentation say the same number; a test compares them.
 */
export const attemptsMax = 6;

const words = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];
export const attemptsMaxInWords = words[attemptsMax] ?? String(attemptsMax);

/** Success is any 2xx status within the deadline. The body decides nothing. */
export function isSuccess(attempt: { statusCode: number | null; error: string | null }): boolean {
  const { statusCode, error } = attempt;
  return error === null && statusCode !== null && statusCode >= 200 && statusCode <= 299;
}
