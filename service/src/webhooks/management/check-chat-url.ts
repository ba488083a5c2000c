/** Checks that the requests of a webhook can be those of its format: a chat channel has the URL of its platform, and no headers. Pure. */
import { checkOwnHeaders, type OwnHeaders } from '../../contract/own-headers.ts';
import type { ChatFormat, WebhookFormat } from '../../contract/delivery-rules.ts';
import type { Issue } from '../../errors.ts';
import { platforms } from '../sending/chat-platforms.ts';
import { checkWebhookUrl, type GuardOptions } from './check-webhook-url.ts';

type Fields = { url?: string | undefined; headers?: OwnHeaders | null | undefined };

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
