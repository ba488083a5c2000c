/** What became of an attempt, in words, and what to check where it failed. Pure. */
import { isSuccess } from '../../../service/src/contract/delivery-rules.ts';
import type { Attempt } from '../api/types.ts';
import { formatDuration } from './duration.ts';

export type AttemptWords = {
  outcome: 'succeeded' | 'failed';
  title: string;
  /** What to check; null where nothing is wrong. */
  advice: string | null;
};

type Words = Omit<AttemptWords, 'outcome'>;

export function describeAttempt({
  statusCode,
  error,
  durationMs,
}: Pick<Attempt, 'statusCode' | 'error' | 'durationMs'>): AttemptWords {
  if (error !== null) return { outcome: 'failed', ...describeFault(error, durationMs) };
  if (statusCode === null)
    return { outcome: 'failed', title: 'No answer', advice: faults.reset.advice };
  if (isSuccess({ statusCode, error }))
    return { outcome: 'succeeded', title: `Accepted with ${statusCode}`, advice: null };
  return { outcome: 'failed', ...describeStatus(statusCode) };
}

const faults: Record<NonNullable<Attempt['error']>, Words> = {
  dns: {
    title: 'The host was not found (DNS)',
    advice:
      'No address is known for the host in the URL. Check its spelling, and that it has a public A or AAAA record. A new record can take a while to be seen everywhere.',
  },
  connect: {
    title: 'No connection',
    advice:
      'The host was found, but did not take the connection. Check that your server is running, that it listens on the port in the URL, and that no firewall keeps the service out.',
  },
  tls: {
    title: 'No secure connection (TLS)',
    advice:
      'The handshake failed. Check that the certificate is made out for this host, has not expired, comes from a public authority, and that your server sends the intermediate certificates too.',
  },
  timeout: {
    title: 'No answer in time',
    advice:
      'Answer with a 2xx status as soon as the delivery is stored, and do the work afterwards. If your server never saw the request, check whether a firewall drops it without an answer.',
  },
  blocked: {
    title: 'Nothing was sent: the address is not allowed',
    advice:
      'The host leads into a private or reserved network, and such addresses are never called. Use a host that can be reached from the internet.',
  },
  reset: {
    title: 'The connection was cut',
    advice:
      'The connection was closed before an answer was complete, or what came was not HTTP. Look into the log of your server, and of any proxy before it, at the time of the attempt.',
  },
  interrupted: {
    title: 'Interrupted by the service',
    advice:
      'The service stopped during the attempt, so nobody knows whether it arrived. That does not count against the webhook. Should the delivery come again, it has the same webhook-id.',
  },
};

function describeFault(error: NonNullable<Attempt['error']>, durationMs: number): Words {
  const { title, advice } = faults[error];
  if (error !== 'timeout') return { title, advice };
  return { title: `No answer within ${formatDuration(durationMs)}`, advice };
}

const checkVerification =
  'If your program answers so because of the signature, make sure that it checks the bytes of the body as they came, with the secret of this webhook.';
const proxy =
  'A proxy or load balancer answered for your server. Check that the program behind it is running and answers in time.';

/** Those that have a cause of their own; the others go by their hundreds. */
const statuses: Record<number, Words> = {
  400: {
    title: 'Your server refused the request (400)',
    advice: `Look into its log for the reason. ${checkVerification}`,
  },
  401: {
    title: 'Your server asks for a sign-in (401)',
    advice: `Deliveries carry a signature and no other credentials: let this path in without a sign-in, and check the signature there. ${checkVerification}`,
  },
  403: {
    title: 'Your server does not let the request in (403)',
    advice: `Exempt this path from sign-in, from protection against forged forms (CSRF) and from bot filters, and check the signature there. ${checkVerification}`,
  },
  404: {
    title: 'Nothing is at this address (404)',
    advice:
      'Check the path in the URL, and that your program has a route for POST there. Some servers tell a path with a slash at its end from one without.',
  },
  405: {
    title: 'Your server takes no POST there (405)',
    advice: 'Deliveries are sent by POST. Check the path in the URL and the method of your route.',
  },
  408: {
    title: 'Your server gave up waiting (408)',
    advice:
      'The request is sent whole and at once. Check the time-outs of your server and of any proxy before it.',
  },
  410: {
    title: 'Gone (410)',
    advice:
      'With 410 your server says that it wants no more deliveries: when the last attempt of a delivery is answered so, the webhook is deactivated. Answer with another status if that is not meant.',
  },
  413: {
    title: 'The body is too large for your server (413)',
    advice: 'Raise the limit of your server, or of the proxy before it, for this path.',
  },
  415: {
    title: 'Your server does not take this kind of content (415)',
    advice: 'The content type is application/json; charset=utf-8. Let the route take it.',
  },
  429: {
    title: 'Too many requests for your server (429)',
    advice:
      'Deliveries are repeated later, and a Retry-After header is kept to, up to six hours. Raise the limit for this path, or store deliveries and work on them at your own pace.',
  },
  502: { title: 'A proxy cannot reach your server (502)', advice: proxy },
  503: {
    title: 'Your server is not available (503)',
    advice: `${proxy} Deliveries are repeated later, and a Retry-After header is kept to, up to six hours.`,
  },
  504: { title: 'Your server does not answer its proxy in time (504)', advice: proxy },
};

function describeStatus(status: number): Words {
  const known = statuses[status];
  if (known) return known;
  if (status >= 300 && status <= 399)
    return {
      title: `Redirected, and not followed (${status})`,
      advice:
        'Deliveries go only to the address that you gave. Change the URL to the one that your server redirects to; its answer names it in the header location.',
    };
  if (status >= 400 && status <= 499)
    return {
      title: `Your server refused the request (${status})`,
      advice: `Look into its log for the reason. ${checkVerification}`,
    };
  if (status >= 500 && status <= 599)
    return {
      title: `Your server failed (${status})`,
      advice:
        'Something went wrong in your program. Look into its log at the time of the attempt; the body of the answer may say more.',
    };
  return {
    title: `An unknown status (${status})`,
    advice: 'Answer with a status from 200 to 299 once the delivery is stored.',
  };
}
