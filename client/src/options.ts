/** What a client and a call can be told, with its checks. No message quotes an address or a key: they may be mixed up. */

export type ClientOptions = {
  /** Where the service is, such as `https://directory.example.org`; `/api/v1` is added. */
  baseUrl: string;
  /** `odk_…`. Only `status` and `openApi` answer without one. */
  apiKey?: string | undefined;
  /** Instead of the global `fetch`: to go through a proxy, to trust a certificate. */
  fetch?: typeof globalThis.fetch | undefined;
  /** For each attempt, from the request to the last byte of the answer. Default: 30,000. */
  timeoutMs?: number | undefined;
  /** How many attempts may follow one that failed and may be repeated. Default: 2. */
  retries?: number | undefined;
  /** Ends everything that this client does. */
  signal?: AbortSignal | undefined;
};

/** For one call. Its signal counts beside the client's. */
export type RequestOptions = Pick<ClientOptions, 'timeoutMs' | 'retries' | 'signal'>;

/** More would hammer on a service that is down. */
const retriesMax = 10;
/** As far as a timer goes. */
const timerMsMax = 2 ** 31 - 1;

/** The address without `/api/v1` and without a slash at its end. */
export function checkBaseUrl(baseUrl: string): URL {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new TypeError('baseUrl must be the http or https address of the service');
  if (url.username || url.password || url.search || url.hash)
    throw new TypeError('baseUrl must have no user, password, query or fragment');
  url.pathname = url.pathname.replace(/\/+$/, '').replace(/\/api\/v1$/, '');
  return url;
}

/** The headers that a key makes. `fetch` would refuse other characters too, and quote the key in its error. */
export function checkKey(apiKey: string | undefined): { authorization?: string } {
  if (apiKey === undefined) return {};
  if (!/^[\x21-\x7e]+$/.test(apiKey))
    throw new TypeError('apiKey must be a key as the service gave it, without spaces or line ends');
  return { authorization: `Bearer ${apiKey}` };
}

export function checkRequestOptions({ timeoutMs = 1, retries = 0 }: RequestOptions): void {
  checkDuration('timeoutMs', timeoutMs, 1);
  if (!(Number.isInteger(retries) && retries >= 0 && retries <= retriesMax))
    throw new RangeError(`retries must be a whole number from 0 to ${retriesMax}`);
}

export function checkDuration(name: string, durationMs: number, minMs: number): void {
  if (!(durationMs >= minMs && durationMs <= timerMsMax))
    throw new RangeError(`${name} must be a number of milliseconds, at least ${minMs}`);
}
