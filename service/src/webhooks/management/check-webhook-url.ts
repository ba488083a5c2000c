/**
 * Checks a webhook's URL and headers: whether delivering with them is forbidden or impossible. Pure; `sending/guard.ts`
 * checks the addresses behind a name when it connects.
 */
import { isIPv4 } from 'node:net';
import type { ChatFormat, WebhookFormat } from '../../contract/delivery-rules.ts';
import type { Network } from '../../settings/config.ts';
import type { Issue } from '../../errors.ts';
import { normaliseHost, literalAddresses } from '../sending/url-host.ts';
import { isAllowedAddress } from '../sending/is-allowed-address.ts';
import { checkOwnHeaders, type OwnHeaders } from '../../contract/own-headers.ts';
import { platforms } from '../sending/chat-platforms.ts';

export type GuardOptions = {
  allowedNetworks: Network[];
  allowHttp: boolean;
  /** Servers that take the place of a platform's, with http too. Only tests set it. */
  chatOrigins?: Partial<Record<ChatFormat, string[]>>;
};

/** docs/reference/deliveries.md#webhook-urls */
export const urlLengthMax = 2048;
/** RFC 1035, section 2.3.4: 255 bytes on the wire are 253 characters. */
export const hostLengthMax = 253;
export const labelLengthMax = 63;

/** The bad ports of the Fetch standard (section 2.9, "Port blocking"). */
const badPorts = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102,
  103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465,
  512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993,
  995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668,
  6669, 6679, 6697, 10080,
]);

/** The message for the webhook's owner, or null if the URL is fine. */
export function checkWebhookUrl(text: string, path: string, options: GuardOptions): Issue | null {
  const message = checkText(text) ?? checkUrl(text, options);
  return message === null ? null : { path, message };
}

/** Rejects text that `new URL` would silently correct, because the stored URL must be the one that is called. */
function checkText(text: string): string | null {
  if (text.length > urlLengthMax) return `must have at most ${urlLengthMax} characters`;
  // Spaces and control characters, including C1 and the Unicode line ends.
  if (/[\p{Cc}\p{Z}\\]/u.test(text))
    return 'must not contain spaces, line ends, control characters or backslashes; percent-encode them in the path or query';
  if (text.includes('#')) return 'must not contain a fragment';
  const authority = authorityOf(text);
  if (authority === null) return 'must be a full address, such as https://example.org/hooks';
  if (authority.includes('@'))
    return 'must not contain credentials; the signature proves who sends';
  if (authority.includes('%'))
    return 'must not percent-encode its host, nor give an IPv6 zone; write the host in plain letters';
  return null;
}

/** The part between `//` and the path. */
function authorityOf(text: string): string | null {
  return /^https?:\/\/([^/?#]+)/i.exec(text)?.[1] ?? null;
}

function checkUrl(text: string, { allowedNetworks, allowHttp }: GuardOptions): string | null {
  const url = URL.parse(text);
  if (!url) return 'must be a full address with a valid host, such as https://example.org/hooks';
  if (url.protocol !== 'https:' && !allowHttp) return 'must begin with https://';
  if (badPorts.has(Number(url.port || defaultPort(url))))
    return `must not use port ${url.port}, which is reserved for another protocol`;
  const host = normaliseHost(url.hostname);
  const addresses = literalAddresses(host);
  if (addresses === null) return checkName(host);
  if (!addresses.some((address) => isAllowedAddress(address, allowedNetworks)))
    return 'must not lead into a private or reserved network';
  if (isIPv4(host) && writtenHost(text) !== host)
    return `must write an IPv4 address as four decimal numbers, here ${host}`;
  return null;
}

function defaultPort(url: URL): number {
  return url.protocol === 'https:' ? 443 : 80;
}

function writtenHost(text: string): string {
  return (authorityOf(text) ?? '').replace(/:\d*$/, '');
}

/** Whether no name server could have this name. `URL` has already turned international names into ASCII. */
function checkName(host: string): string | null {
  if (host.length > hostLengthMax) return `must have a host of at most ${hostLengthMax} characters`;
  const labels = host.split('.');
  if (labels.some((label) => label.length > labelLengthMax))
    return `must have at most ${labelLengthMax} characters between the dots of its host`;
  // The standard does not allow underscores in host names, but they are in use.
  if (!labels.every((label) => /^[a-z0-9_-]+$/.test(label)))
    return 'must have a host of letters, digits and hyphens, with single dots between its parts';
  return null;
}

type Fields = { url?: string | undefined; headers?: OwnHeaders | null | undefined };

/** Checks that the requests of a webhook can be those of its format: a chat channel has the URL of its platform, and no headers. */
export function checkRequest(
  format: WebhookFormat,
  { url, headers = null }: Fields,
  guard: GuardOptions,
  serviceName: string,
): Issue[] {
  const urlIssue = url === undefined ? null : checkUrlOf(format, url, 'body.url', guard);
  const hasHeaders = Object.keys(headers ?? {}).length > 0;
  const headerIssues =
    format === 'json' || !hasHeaders
      ? checkOwnHeaders(headers, serviceName)
      : [{ path: 'body.headers', message: noHeaders }];
  return [...(urlIssue ? [urlIssue] : []), ...headerIssues];
}

const noHeaders =
  'must be left out: a chat channel takes no headers of yours, because its URL is the credential';

/** As `checkWebhookUrl`, for a webhook of this format. Never repeats the URL, which is a credential. */
export function checkUrlOf(
  format: WebhookFormat,
  text: string,
  path: string,
  guard: GuardOptions,
): Issue | null {
  if (format === 'json')
    return checkWebhookUrl(text, path, guard) ?? checkNoChannel(text, path, guard);
  if (text.includes('…'))
    return { path, message: 'is the masked URL; paste the whole one, or leave it out to keep it' };
  const origins = guard.chatOrigins?.[format];
  const issue = checkWebhookUrl(text, path, { ...guard, allowHttp: origins !== undefined });
  if (issue) return issue;
  const message = checkPlatform(format, new URL(text), origins);
  return message === null ? null : { path, message };
}

/** Such a URL would be shown, and the platform refuses what is sent. */
function checkNoChannel(text: string, path: string, { chatOrigins }: GuardOptions): Issue | null {
  const url = new URL(text);
  const formats = Object.keys(platforms) as ChatFormat[];
  const format = formats.find((one) => checkPlatform(one, url, chatOrigins?.[one]) === null);
  if (!format) return null;
  const message = `is the URL of a channel of ${platforms[format].name}; create a webhook with the format ${format}, which keeps it secret`;
  return { path, message };
}

function checkPlatform(format: ChatFormat, url: URL, origins: string[] | undefined): string | null {
  const { name, host, path, example } = platforms[format];
  const isOfPlatform = origins ? origins.includes(url.origin) : host.test(url.hostname);
  if (!isOfPlatform) return `must be the URL of an incoming webhook of ${name} (${example})`;
  if (!origins && url.port !== '') return 'must use port 443';
  if (!path.test(url.pathname)) return `must be the URL that ${name} shows (${example})`;
  return null;
}
