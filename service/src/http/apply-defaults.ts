/** The settings that the applications of all listeners share. */
import type { FastifyInstance } from 'fastify';
import { ServiceError } from '../errors.ts';
import { supportAllMethods } from './methods.ts';
import { requireDecodableQuery } from './connections/request-target.ts';
import { sendError } from './responses/send-error.ts';
import { validatorCompiler } from './validate.ts';
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

export function applyDefaults(app: FastifyInstance): void {
  supportAllMethods(app);
  app.setValidatorCompiler(validatorCompiler as never);
  app.setSerializerCompiler(() => JSON.stringify);
  app.setErrorHandler(sendError);
  app.setNotFoundHandler(() => {
    throw new ServiceError('not_found');
  });
  app.addHook('preValidation', (request, _reply, done) => {
    // Pages and redirects of providers have no schema: a query that they cannot read changes nothing for them.
    if (request.routeOptions.schema?.querystring) requireDecodableQuery(request);
    done();
  });
}

const wellFormed = /^[A-Za-z0-9._:-]{1,128}$/;

/** Keeps a well-formed id from the caller, so that logs on both sides can be matched. */
export function requestIdOf({ headers }: { headers: IncomingHttpHeaders }): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && wellFormed.test(given) ? given : randomUUID();
}
