import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

const wellFormed = /^[A-Za-z0-9._:-]{1,128}$/;

/** Keeps a well-formed id from the caller, so that logs on both sides can be matched. */
export function requestIdOf({ headers }: { headers: IncomingHttpHeaders }): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && wellFormed.test(given) ? given : randomUUID();
}
