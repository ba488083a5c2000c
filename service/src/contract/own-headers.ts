/** The headers that owners add to the deliveries of a webhook: which names and values are allowed. Pure. */
import { Type } from 'typebox';
import type { Issue } from '../errors.ts';
import { nullable } from './shapes.ts';

export const ownHeadersMax = 10;
export const headerNameMax = 100;
export const headerValueMax = 2_000;
/** Names and values together: common servers accept 8 KiB of headers, and the service's own take 1 KiB. */
export const headerCharsMax = 4_096;

/** Names that are refused, by reason, in lower case. One that ends with a hyphen stands for all names that begin with it. */
export const refusedHeaders: Readonly<Record<string, readonly string[]>> = {
  'belongs to the connection': [
    'connection',
    'keep-alive',
    'proxy-',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
    'http2-settings',
  ],
  // The response to a request with `Accept-Encoding` may be compressed, and is stored as it comes.
  'is decided by the service': [
    'host',
    'content-',
    'user-agent',
    'expect',
    'date',
    'accept-encoding',
  ],
  'tells where a request comes from': [
    'forwarded',
    'via',
    'x-forwarded-',
    'x-real-ip',
    'x-client-ip',
    'true-client-ip',
    'cf-connecting-ip',
  ],
  'belongs to the signature': ['webhook-'],
  'belongs to the trace': ['traceparent', 'tracestate'],
};

/** RFC 9110, section 5.6.2. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** RFC 9110, section 5.5, without tabs and bytes above ASCII, which servers read in different ways. */
const fieldValue = /^[!-~](?:[ -~]*[!-~])?$/;

/** Names and values. Null and an empty object mean none. */
export type OwnHeaders = Record<string, string>;

export const OwnHeadersInput = nullable(
  // `Type.Record` would leave names with line ends unchecked.
  Type.Unsafe<OwnHeaders>({
    type: 'object',
    additionalProperties: { type: 'string' },
    description: `Headers that the service adds to each delivery, such as credentials: at most ${ownHeadersMax}, with names of at most ${headerNameMax} and values of at most ${headerValueMax} characters, together ${headerCharsMax}. Values are encrypted and never returned. Null or an empty object for none, as for every chat channel.`,
    maxProperties: ownHeadersMax,
    examples: [{ Authorization: 'Bearer 7f3c9a' }],
  }),
);

/** What is wrong, without any value: an owner may also paste one into the field of a name. */
export function checkOwnHeaders(headers: OwnHeaders | null, serviceName: string): Issue[] {
  const entries = Object.entries(headers ?? {});
  const issues = entries.flatMap(([name, value], index) => {
    if (!token.test(name) || name.length > headerNameMax) return [badName(index)];
    const message =
      refusalOf(name, serviceName) ??
      repetitionOf(name, entries.slice(0, index)) ??
      valueFault(name, value);
    return message === null ? [] : [{ path: `body.headers.${name}`, message }];
  });
  const chars = entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (issues.length > 0 || chars <= headerCharsMax) return issues;
  return [
    {
      path: 'body.headers',
      message: `must have at most ${headerCharsMax} characters in all names and values, not ${chars}`,
    },
  ];
}

function badName(index: number): Issue {
  return {
    path: 'body.headers',
    message: `must have names of 1 to ${headerNameMax} letters, digits and any of !#$%&'*+-.^_\`|~, without a colon or space; name ${index + 1} has not`,
  };
}

function refusalOf(name: string, serviceName: string): string | null {
  // Servers that pass headers in variables read both alike.
  const lower = name.toLowerCase().replaceAll('_', '-');
  const fits = (refused: string) =>
    refused.endsWith('-') ? lower.startsWith(refused) : lower === refused;
  const [reason] = Object.entries(refusedHeaders).find(([, names]) => names.some(fits)) ?? [];
  if (reason !== undefined) return `${name} is not allowed, because it ${reason}`;
  return fits(`x-${serviceName.toLowerCase()}-`)
    ? `${name} is not allowed, because the service sends headers that begin so`
    : null;
}

function repetitionOf(name: string, before: [string, string][]): string | null {
  return before.some(([other]) => other.toLowerCase() === name.toLowerCase())
    ? `${name} is given twice; header names ignore case`
    : null;
}

function valueFault(name: string, value: string): string | null {
  if (value.length > headerValueMax)
    return `the value of ${name} must have at most ${headerValueMax} characters`;
  return fieldValue.test(value)
    ? null
    : `the value of ${name} must be visible ASCII characters, with spaces only between them`;
}
