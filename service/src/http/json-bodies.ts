/** Accepts only JSON bodies in valid UTF-8 that name each field once. Zero bytes are no body: generated clients send them where none is needed. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { strictObject } from '../contract/shapes.ts';
import { findRepeatedName, parseJson } from '../contract/json.ts';
import { createValidator } from '../contract/validate.ts';
import { invalid, ServiceError } from '../errors.ts';

export function readJsonBodies(app: FastifyInstance): void {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  // Refusing `__proto__` and `constructor.prototype` prevents prototype pollution; none of our fields has these names.
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const refusal = refuseEncoding(request);
    if (refusal) return done(refusal);
    let text: string;
    try {
      text = utf8.decode(body as Buffer);
    } catch {
      return done(invalid({ path: 'body', message: 'must be UTF-8' }));
    }
    if (text === '') return done(null, undefined);
    if (text.trim() === 'null') return done(invalid({ path: 'body', message: 'must not be null' }));
    void parse(request, text, (error, value) => {
      if (error && parseJson(text) === undefined) return done(error);
      if (error) return done(invalid({ path: 'body', message: notAllowed }));
      const repeated = findRepeatedName(text);
      if (repeated === null) return done(null, value);
      done(invalid({ path: `body.${repeated}`, message: 'must not be there twice' }));
    });
  });
}

const notAllowed =
  '"__proto__" and "prototype" in "constructor" are not allowed as names of fields';

/** The error for a body that is compressed or not in UTF-8, or null. Each parser of bodies calls this. */
export function refuseEncoding({ headers }: FastifyRequest): ServiceError | null {
  if ((headers['content-encoding'] ?? 'identity') !== 'identity')
    return new ServiceError(
      'unsupported_media_type',
      'The body must not be compressed. Send it as it is, without the header Content-Encoding.',
      { headers: { 'accept-encoding': 'identity' } },
    );
  const [, charset = 'utf-8'] = charsetOf.exec(headers['content-type'] ?? '') ?? [];
  return /^(utf-?8|us-ascii)$/i.test(charset)
    ? null
    : new ServiceError('unsupported_media_type', 'The body must be in UTF-8.');
}

const charsetOf = /;\s*charset="?([^\s";]+)/i;

/** A `preValidation` hook for an optional body: a missing body counts as an empty object. */
export async function withEmptyBody(request: FastifyRequest): Promise<void> {
  request.body ??= {};
}

const isEmpty = createValidator(strictObject({}));

/** A `preValidation` hook for operations without a body: an empty object counts as none. */
export async function refuseFields({ body = {} }: FastifyRequest): Promise<void> {
  const checked = isEmpty(body, 'body');
  if (!checked.ok) throw invalid(...checked.issues);
}
