/** Who sends a request about signing in: kept with the session, and shown in the audit log. */
import { AsyncLocalStorage } from 'node:async_hooks';

export type Caller = {
  ip: string;
  /** At most `userAgentCharsMax` characters. */
  userAgent: string | null;
  /** As the browser sent it. */
  cookie: string | null;
};

/** Who comes back from a provider, for what better-auth calls without its request. `failure`: why they could not sign up. */
export const callers = new AsyncLocalStorage<Caller & { failure?: unknown }>();

/** Long enough for every browser's. */
export const userAgentCharsMax = 300;

/** The request header in which better-auth finds the caller's address. Callers cannot send it: requests are built from a `Caller`. */
export const addressHeader = 'x-orgdir-address';

/** The same for the session that may add a provider to its account. */
const linkingHeader = 'x-orgdir-linking-session';

/** What better-auth keeps in the database until the provider sends the browser back. */
export type LinkingState = { linkingSession: string };

/** The headers that better-auth reads. `linkingSession`: the id of a session that may add a provider, or null. */
export function headersOf(
  { ip, userAgent, cookie }: Caller,
  linkingSession: string | null = null,
): Headers {
  return new Headers({
    [addressHeader]: ip,
    ...(linkingSession !== null && { [linkingHeader]: linkingSession }),
    ...(userAgent !== null && { 'user-agent': userAgent }),
    ...(cookie !== null && { cookie }),
  });
}

/** The session in headers of `headersOf`. */
export function linkingSessionIn(headers: Headers | undefined): string | null {
  return headers?.get(linkingHeader) ?? null;
}

/** The caller in headers of `headersOf`. */
export function callerIn(headers: Headers): Pick<Caller, 'ip' | 'userAgent'> {
  return { ip: headers.get(addressHeader) ?? '', userAgent: headers.get('user-agent') };
}
