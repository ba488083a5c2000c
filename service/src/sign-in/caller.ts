/** Who sends a request about signing in: kept with the session, and shown in the audit log. */
export type Caller = {
  ip: string;
  userAgent: string | null;
  /** As the browser sent it. */
  cookie: string | null;
};

/** The request header in which better-auth finds the caller's address. Callers cannot send it: requests are built from a `Caller`. */
export const addressHeader = 'x-orgdir-address';

/** The headers that better-auth reads. */
export function headersOf({ ip, userAgent, cookie }: Caller): Headers {
  return new Headers({
    [addressHeader]: ip,
    ...(userAgent !== null && { 'user-agent': userAgent }),
    ...(cookie !== null && { cookie }),
  });
}

/** The caller in headers of `headersOf`. */
export function callerIn(headers: Headers): Pick<Caller, 'ip' | 'userAgent'> {
  return { ip: headers.get(addressHeader) ?? '', userAgent: headers.get('user-agent') };
}
