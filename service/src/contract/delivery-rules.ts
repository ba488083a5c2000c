import { inWords } from './texts.ts';

/**
 * How often a delivery is attempted before it fails (docs/reference/deliveries.md#retries). A test compares this number
 * with the CHECK on `cycle_attempts` and with the documentation.
 */
export const attemptsMax = 6;

export const attemptsMaxInWords = inWords(attemptsMax);

/** How much of a response body is kept. */
export const keptBytesMax = 4 * 1024;

/** Success is any 2xx status within the deadline, with any body. */
export function isSuccess(attempt: { statusCode: number | null; error: string | null }): boolean {
  const { statusCode, error } = attempt;
  return error === null && statusCode !== null && statusCode >= 200 && statusCode <= 299;
}

/** `json`: the signed request of docs/reference/deliveries.md. The others are messages for a channel of that platform. */
export const webhookFormats = ['json', 'discord', 'slack', 'teams'] as const;
export type WebhookFormat = (typeof webhookFormats)[number];
export type ChatFormat = Exclude<WebhookFormat, 'json'>;
