/** Bodies are JSON in valid UTF-8, or refused. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { invalid } from '../errors.ts';

export function readJsonBodies(app: FastifyInstance): void {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  // `__proto__` and `constructor.prototype` are refused: no field of ours is called that.
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    let text: string;
    try {
      text = utf8.decode(body as Buffer);
    } catch {
      done(invalid({ path: 'body', message: 'must be UTF-8' }));
      return;
    }
    void parseJson(request, text, done);
  });
}

/** A `preValidation` hook for an optional body: without one it is an empty object. */
export async function withEmptyBody(request: FastifyRequest): Promise<void> {
  request.body ??= {};
}
