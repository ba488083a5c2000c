/** The headers that an owner adds to deliveries, as they are encrypted and sent. Pure. */

/** With the origin of the URL for which they were set. */
export type OpenedHeaders = { origin: string; headers: Record<string, string> };

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
const hiddenFrom = 6;

/** Hides the values in what a receiver returned: some repeat the headers of a request. */
export function hideValues(response: Buffer | null, own: OpenedHeaders): Buffer | null {
  if (response === null) return null;
  const values = Object.values(own.headers)
    .flatMap((value) => [value, value.slice(value.indexOf(' ') + 1)])
    .filter(({ length }) => length >= hiddenFrom);
  let text = response.toString('latin1');
  for (const value of values)
    for (const form of [value, JSON.stringify(value).slice(1, -1)])
      text = text.replaceAll(form, () => '***');
  return Buffer.from(text, 'latin1');
}
