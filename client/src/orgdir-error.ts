/** What every error of this package is an instance of. None holds an API key, a secret or a payload. */
export class OrgdirError extends Error {
  override readonly name: string = 'OrgdirError';
}
