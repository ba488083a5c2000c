/** Describes the result of an attempt, with advice if it failed. */
import { isSuccess } from '../../../service/src/contract/delivery-rules.ts';
import { errorCauseLabels } from '../../../service/src/contract/webhook-in-words.ts';
import type { Attempt } from '../api/types.ts';
import { formatDuration } from './format-duration.ts';

export type AttemptDescription = {
  outcome: 'succeeded' | 'failed';
  title: string;
  /** Null if the attempt succeeded. */
  advice: string | null;
};

type Texts = Omit<AttemptDescription, 'outcome'>;

/** `isMessage`: it was sent to a chat platform, and not to a server of the webhook's owner. */
export function describeAttempt(
  {
    statusCode,
    error,
    errorCause = null,
    durationMs,
  }: Pick<Attempt, 'statusCode' | 'error' | 'durationMs'> & Partial<Pick<Attempt, 'errorCause'>>,
  isMessage = false,
): AttemptDescription {
  // A newer service may know more causes. Whoever reads this cannot change a chat platform's certificate.
  const advice = errorCause === null || isMessage ? undefined : causeAdvice[errorCause];
  if (errorCause !== null && advice !== undefined)
    return { outcome: 'failed', title: errorCauseLabels[errorCause], advice };
  if (error !== null) return { outcome: 'failed', ...describeFault(error, durationMs) };
  if (statusCode === null)
    return { outcome: 'failed', title: 'No response', advice: faults.reset.advice };
  if (isSuccess({ statusCode, error }))
    return { outcome: 'succeeded', title: `Accepted with ${statusCode}`, advice: null };
  const texts = isMessage ? describePlatformStatus(statusCode) : null;
  return { outcome: 'failed', ...(texts ?? describeStatus(statusCode)) };
}

const faults: Record<NonNullable<Attempt['error']>, Texts> = {
  dns: {
    title: 'The host was not found (DNS)',
    advice:
      'The host in the URL has no address. Check its spelling, and that it has a public A or AAAA record. A new record can take a while to propagate.',
  },
  connect: {
    title: 'Connection failed',
    advice:
      'The host was found, but did not accept the connection. Check that your server is running, that it listens on the port in the URL, and that no firewall blocks it. If the host has an IPv6 address only, add an IPv4 address.',
  },
  tls: {
    title: 'The TLS handshake failed',
    advice:
      'Check that the certificate is valid for this host, has not expired, comes from a public authority, and that your server sends the intermediate certificates too. On this port it must speak TLS 1.2 or 1.3, and must not require a client certificate.',
  },
  timeout: {
    title: 'No response in time',
    advice:
      'Respond with a 2xx status as soon as the delivery is stored, and do the work afterwards. If your server never got the request, check whether a firewall drops it, and whether the name servers of its host respond.',
  },
  blocked: {
    title: 'Not sent: the address is not allowed',
    advice:
      'The host resolves to a private or reserved network, and such addresses are never called. Use a host that can be reached from the internet.',
  },
  reset: {
    title: 'The connection was closed',
    advice:
      'The connection closed before the response was complete, or the response was not HTTP. Check the logs of your server and of any proxy in front of it at the time of the attempt.',
  },
  interrupted: {
    title: 'Interrupted by the service',
    advice:
      'The service stopped during the attempt, so it is unknown whether the delivery arrived. This does not count against the webhook. If the delivery is sent again, it has the same webhook-id.',
  },
};

const causeAdvice: Partial<Record<string, string>> & Record<keyof typeof errorCauseLabels, string> =
  {
    refused:
      'The host was found, but nothing listens on the port in the URL. Check that your server is running, and that it listens on this port and for requests from the internet.',
    unreachable:
      'There is no way to the address of the host. Check its DNS records and your firewall. If it has an IPv6 address only, add an IPv4 address.',
    not_tls:
      'The URL begins with https, but the response was not TLS. Use the port at which your server speaks HTTPS, usually 443.',
    tls_version: 'Make your server, or the proxy in front of it, speak TLS 1.2 or 1.3.',
    certificate_expired:
      'Renew the certificate of your server, and reload the server so that it uses the new one. An intermediate certificate can have expired, too.',
    certificate_not_yet_valid:
      'Use a certificate that is valid now, and check the clock of whatever made it.',
    certificate_wrong_host:
      'The certificate must name the host in the URL as a subject alternative name. Check the host, and which certificate your server sends for it.',
    certificate_incomplete:
      'Your server sends its certificate without the intermediate certificates: configure the full chain, often called fullchain.pem. If it sends them, the authority is not a public one.',
    certificate_untrusted:
      'Self-signed certificates and those of private authorities are not accepted. Use one from a public authority, such as Let’s Encrypt.',
    client_certificate_required:
      'Deliveries have none. Exempt this path, and check the signature of each delivery instead.',
  };

function describeFault(error: NonNullable<Attempt['error']>, durationMs: number): Texts {
  const { title, advice } = faults[error];
  if (error !== 'timeout') return { title, advice };
  return { title: `No response within ${formatDuration(durationMs)}`, advice };
}

const checkVerification =
  'If your program rejects the signature, make sure that it checks the raw bytes of the body, with the secret of this webhook.';
const proxy =
  'A proxy or load balancer responded for your server. Check that the program behind it is running and responds in time.';

/** Statuses with a specific cause. `describeStatus` handles all others by range. */
const statuses: Record<number, Texts> = {
  401: {
    title: 'Your server requires authentication (401)',
    advice: `Deliveries carry a signature and no other credentials: allow this path without authentication, and check the signature there. ${checkVerification}`,
  },
  403: {
    title: 'Your server forbids the request (403)',
    advice: `Exempt this path from authentication, CSRF protection and bot filters, and check the signature there. ${checkVerification}`,
  },
  404: {
    title: 'Not found at this URL (404)',
    advice:
      'Check the path in the URL, and that your program has a route for POST there. Some servers treat a trailing slash as a different path.',
  },
  405: {
    title: 'Your server does not allow POST there (405)',
    advice:
      'Deliveries are sent as POST requests. Check the path in the URL and the method of your route.',
  },
  408: {
    title: 'Your server timed out (408)',
    advice:
      'The whole request is sent at once. Check the timeouts of your server and of any proxy in front of it.',
  },
  410: {
    title: 'Gone (410)',
    advice:
      '410 means that your server wants no more deliveries: if the last attempt of a delivery gets it, the webhook is deactivated. Respond with another status if that is not intended.',
  },
  413: {
    title: 'The body is too large for your server (413)',
    advice: 'Raise the limit of your server, or of the proxy in front of it, for this path.',
  },
  415: {
    title: 'Your server does not accept this content type (415)',
    advice: 'The content type is application/json; charset=utf-8. Make the route accept it.',
  },
  429: {
    title: 'Too many requests for your server (429)',
    advice:
      'Deliveries are retried later, and a Retry-After header of up to six hours is respected. Raise the limit for this path, or store deliveries and process them at your own pace.',
  },
  502: { title: 'A proxy cannot reach your server (502)', advice: proxy },
  503: {
    title: 'Your server is not available (503)',
    advice: `${proxy} Deliveries are retried later, and a Retry-After header of up to six hours is respected.`,
  },
  504: { title: 'Your server does not respond to its proxy in time (504)', advice: proxy },
};

function describePlatformStatus(status: number): Texts | null {
  if (status >= 400 && status <= 499)
    return {
      title: `The chat platform refused the message (${status})`,
      advice:
        'The response may say why. After 401, 403, 404 or 410, the URL is wrong, or the incoming webhook was deleted: copy the URL from the platform again, and enter it in the settings.',
    };
  if (status >= 500 && status <= 599)
    return {
      title: `The chat platform failed (${status})`,
      advice: 'The cause is on its side. Deliveries are retried later.',
    };
  return null;
}

function describeStatus(status: number): Texts {
  const known = statuses[status];
  if (known) return known;
  if (status >= 300 && status <= 399)
    return {
      title: `Redirects are not followed (${status})`,
      advice:
        'Deliveries go only to the URL of the webhook. Change the URL to the one that your server redirects to: it is in the location header of the response.',
    };
  if (status >= 400 && status <= 499)
    return {
      title: `Your server refused the request (${status})`,
      advice: `Check its logs for the reason. ${checkVerification}`,
    };
  if (status >= 500 && status <= 599)
    return {
      title: `Your server failed (${status})`,
      advice:
        'Something went wrong in your program. Check its logs at the time of the attempt; the response body may say more.',
    };
  return {
    title: `Unknown status (${status})`,
    advice: 'Respond with a status from 200 to 299 once the delivery is stored.',
  };
}
