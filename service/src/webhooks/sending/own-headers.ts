/** The headers that an owner adds to deliveries, as they are encrypted and sent. Pure. */

/** With the origin of the URL for which they were set. */
export type OpenedHeaders = { origin: string; headers: Record<string, string> };

/** Binds sealed headers to their webhook, and keeps them apart from the webhook's secrets. */
export function headersOwner(webhookId: string): string {
  return `${webhookId}/headers`;
}

/** The text that is encrypted; `parseOwnHeaders` reads it. */
export function sealedText(headers: Record<string, string>, url: string): string {
  return JSON.stringify({ origin: new URL(url).origin, headers } satisfies OpenedHeaders);
}

export function parseOwnHeaders(text: string): OpenedHeaders {
  try {
    return JSON.parse(text) as OpenedHeaders;
  } catch {
    // The error of `JSON.parse` quotes the text.
    throw new Error('own headers are damaged');
  }
}

/** Adds them to those of the service, which they never replace, also if its name or version has changed since. */
export function addOwnHeaders(
  headers: Record<string, string>,
  own: OpenedHeaders | null,
  url: string,
): Record<string, string> {
  // A process of 1.0.0 that moves a webhook to another server does not remove them.
  if (own === null || own.origin !== new URL(url).origin) return headers;
  const taken = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const added = Object.entries(own.headers).filter(([name]) => !taken.has(name.toLowerCase()));
  return { ...headers, ...Object.fromEntries(added) };
}

/** A shorter value is no secret, and may be anywhere in a text. */
const secretLengthMin = 6;

/** The values, and the credentials that follow a scheme such as `Bearer`. */
export function headerSecrets(own: OpenedHeaders): string[] {
  return Object.values(own.headers)
    .flatMap((value) => [value, value.slice(value.indexOf(' ') + 1)])
    .filter(({ length }) => length >= secretLengthMin);
}
