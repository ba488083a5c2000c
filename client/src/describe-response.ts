/** Says what came in the place of a response of the service. */

type Came = Pick<Response, 'type' | 'status' | 'headers'>;

const wordsCharsMax = 80;
/** What is read of a page to find its first words. */
export const describedCharsMax = 20_000;

/** `text` is the body, or its beginning; `secret` is left out of it, because some servers send back what they get. */
export function describeResponse(
  operation: string,
  { type, status, headers }: Came,
  text: string,
  secret: string | null,
): string {
  if (type === 'opaqueredirect' || (status >= 300 && status < 400))
    return `${operation}: the response is a redirect; set baseUrl to its target`;
  const kind = headers.get('content-type')?.split(';')[0]?.trim() || 'no content type';
  const words = firstWords(secret === null ? text : text.replaceAll(secret, '…'));
  const content = words === '' ? 'without content' : `beginning with ${JSON.stringify(words)}`;
  return (
    `${operation}: the response (status ${status}, ${kind}, ${content}) is not from the service; ` +
    'check baseUrl, and whether a proxy responds in its place'
  );
}

/** Of a page its title, or else its text. */
function firstWords(text: string): string {
  const start = text.slice(0, describedCharsMax);
  const isMarkup = /^\s*</.test(start);
  const title = /<title[^<>]*>([^<]*)/i.exec(start)?.[1]?.trim();
  const shown = isMarkup
    ? title || start.replaceAll(/<(script|style)\b.*?<\/\1>/gis, ' ').replaceAll(/<[^>]*>?/g, ' ')
    : start;
  const words = shown.replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim();
  const chars = Array.from(words);
  return chars.length > wordsCharsMax ? `${chars.slice(0, wordsCharsMax).join('')}…` : words;
}
