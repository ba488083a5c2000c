import { OrgdirError } from './orgdir-error.ts';

export type UnexpectedAnswerFields = {
  message: string;
  status: number;
  requestId: string | null;
  retryAfter: number | null;
};

/** Something answered that does not speak as the service does: a proxy's error page, a redirect, another server. */
export class UnexpectedAnswerError extends OrgdirError {
  override readonly name = 'UnexpectedAnswerError';
  /** The status of the HTTP answer; 0 where a browser keeps it back. */
  readonly status: number;
  readonly requestId: string | null;
  /** In how many seconds to ask again, where the answer says so. */
  readonly retryAfter: number | null;

  constructor(fields: UnexpectedAnswerFields) {
    super(fields.message);
    this.status = fields.status;
    this.requestId = fields.requestId;
    this.retryAfter = fields.retryAfter;
  }
}
