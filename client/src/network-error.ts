import { OrgdirError } from './orgdir-error.ts';

/** The connection failed or was lost. `cause` is the error of `fetch`. */
export class NetworkError extends OrgdirError {
  override readonly name = 'NetworkError';
}
