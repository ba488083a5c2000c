import { OrgdirError } from './orgdir-error.ts';

/** No whole answer came: the name did not resolve, the connection was refused or cut. `cause` is what `fetch` threw. */
export class NetworkError extends OrgdirError {
  override readonly name = 'NetworkError';
}
