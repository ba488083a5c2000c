import { WebhookVerificationError } from './webhook-verification-error.ts';

/** Headers of Fetch or Node.js, or a plain object. Names may have any case. */
export type WebhookHeaders =
  | Pick<Headers, 'get'>
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** Returns a function that reads the only value of a header. It throws if the header is missing or repeated. */
export function headerReader(headers: WebhookHeaders): (name: string) => string {
  return (name) => {
    const values = isFetchHeaders(headers) ? fromFetch(headers, name) : fromObject(headers, name);
    const [value] = values;
    if (value === undefined)
      throw new WebhookVerificationError('missing_header', `The header ${name} is missing.`, name);
    if (values.length > 1)
      throw new WebhookVerificationError(
        'malformed_header',
        `The header ${name} occurs more than once.`,
        name,
      );
    return value;
  };
}

function isFetchHeaders(headers: WebhookHeaders): headers is Pick<Headers, 'get'> {
  return typeof headers['get'] === 'function';
}

function fromFetch(headers: Pick<Headers, 'get'>, name: string): string[] {
  const value = headers.get(name);
  return value === null ? [] : [value];
}

function fromObject(
  headers: Exclude<WebhookHeaders, Pick<Headers, 'get'>>,
  name: string,
): string[] {
  return Object.entries(headers)
    .filter(([key]) => key.toLowerCase() === name)
    .flatMap(([, value]) => value ?? []);
}
