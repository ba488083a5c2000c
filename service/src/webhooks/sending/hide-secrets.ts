/** Takes out of a response what it repeats of its request and nobody may read: an error page its path, an echo its headers. Pure. */
import { keptBytesMax } from '../../contract/delivery-rules.ts';
import type { AttemptOutcome } from './attempt.ts';

/** The shortest start of a secret that is taken out at the end of a body that was cut. */
const startLengthMin = 8;

/** Each of `secrets` becomes `***`, also as it is written in JSON or in a URL. */
export function hideSecrets(outcome: AttemptOutcome, secrets: string[]): AttemptOutcome {
  if (secrets.length === 0) return outcome;
  // The longest first, because it may contain others.
  const forms = secrets
    .flatMap((one) => [one, JSON.stringify(one).slice(1, -1), encodeURIComponent(one)])
    .toSorted((one, other) => other.length - one.length);
  const { responseHeaders, responseBody } = outcome;
  return {
    ...outcome,
    responseHeaders: responseHeaders && hideInHeaders(responseHeaders, forms),
    responseBody: responseBody && hideInBody(responseBody, forms),
  };
}

function hide(text: string, forms: string[]): string {
  return forms.reduce((left, form) => left.replaceAll(form, '***'), text);
}

/** In each name and value: a secret with quotes could also be found across two of them, and what is left would be no JSON. */
function hideInHeaders(headers: Buffer, forms: string[]): Buffer {
  const kept = JSON.parse(headers.toString()) as Record<string, string>;
  const hidden = Object.entries(kept).map((pair) => pair.map((text) => hide(text, forms)));
  return Buffer.from(JSON.stringify(Object.fromEntries(hidden)));
}

function hideInBody(body: Buffer, forms: string[]): Buffer {
  const text = hide(body.toString('latin1'), forms);
  // Only the first bytes of a body are kept, which may end within a secret.
  const isCut = body.length >= keptBytesMax;
  const cut = isCut ? Math.max(...forms.map((form) => countStarted(text, form))) : 0;
  return Buffer.from(text.slice(0, text.length - cut), 'latin1');
}

/** How many characters of a secret the text ends with; 0 if they are too few to tell. */
function countStarted(text: string, secret: string): number {
  for (let count = secret.length - 1; count >= startLengthMin; count -= 1)
    if (text.endsWith(secret.slice(0, count))) return count;
  return 0;
}
