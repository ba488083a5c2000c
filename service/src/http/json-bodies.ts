/** Accepts only JSON bodies in valid UTF-8. Zero bytes are no body: generated clients send them where none is needed. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { strictObject } from '../contract/shapes.ts';
import { createValidator } from '../contract/validate.ts';
import { invalid } from '../errors.ts';

export function readJsonBodies(app: FastifyInstance): void {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  // Refusing `__proto__` and `constructor.prototype` prevents prototype pollution; none of our fields has these names.
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    let text: string;
    try {
      text = utf8.decode(body as Buffer);
    } catch {
      return done(invalid({ path: 'body', message: 'must be UTF-8' }));
    }
    if (text === '') return done(null, undefined);
    if (text.trim() === 'null') return done(invalid({ path: 'body', message: 'must not be null' }));
    void parseJson(request, text, done);
  });
}

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
