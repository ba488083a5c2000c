import { OrgdirError } from './orgdir-error.ts';

export type UnexpectedResponseFields = {
  message: string;
  status: number;
  requestId: string | null;
  retryAfter: number | null;
};

/** The response is not from the service: a proxy's page, a redirect, another server. `message` has its content type and first words. */
export class UnexpectedResponseError extends OrgdirError {
  override readonly name = 'UnexpectedResponseError';
  /** The status of the HTTP response; 0 if the browser hides it. */
  readonly status: number;
  readonly requestId: string | null;
  /** How long to wait before retrying, in seconds, if the response says so. */
  readonly retryAfter: number | null;

  constructor(fields: UnexpectedResponseFields) {
    super(fields.message);
    this.status = fields.status;
    this.requestId = fields.requestId;
    this.retryAfter = fields.retryAfter;
  }
}
