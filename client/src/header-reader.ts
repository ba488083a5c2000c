import { WebhookVerificationError } from './webhook-verification-error.ts';

/** As Fetch has them, as Node.js has them, or a plain object. Names in any case. */
export type WebhookHeaders =
  | Pick<Headers, 'get'>
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** Gives the one value of a header. Throws where it is missing, or there more than once. */
export function headerReader(headers: WebhookHeaders): (name: string) => string {
  return (name) => {
    const values = isFetchHeaders(headers) ? fromFetch(headers, name) : fromObject(headers, name);
    const [value] = values;
    if (value === undefined)
      throw new WebhookVerificationError('missing_header', `The header ${name} is missing.`, name);
    if (values.length > 1)
      throw new WebhookVerificationError(
        'malformed_header',
        `The header ${name} is there more than once.`,
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
