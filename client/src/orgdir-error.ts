/** The base class of all errors of this package. None contains an API key, a secret or a payload. */
export class OrgdirError extends Error {
  override readonly name: string = 'OrgdirError';
}
