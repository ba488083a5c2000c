/** The schemas and dependencies that all routes of the portal share. */
import { Type, type TSchema } from 'typebox';
import { uuid } from '../../contract/shapes.ts';
import { errorBody, pageEnvelope } from '../../contract/envelope.ts';
import type { ErrorCode } from '../../errors.ts';
import type { SignIn } from '../../sign-in/sign-in.ts';
import type { Health } from '../../system/health.ts';
import { responses } from '../responses.ts';
import type { WebhookDependencies } from '../webhooks/operation.ts';

export type PortalRouteDependencies = WebhookDependencies & {
  signIn: SignIn;
  health: Health;
  publicUrl: string;
};

export const config = { portal: 'signed-in' } as const;
export const openConfig = { portal: 'open' } as const;
export const security = [{ session: [] }];
export { noQuery } from '../../contract/shapes.ts';

/** The schema of a list that is short enough to need no pages. */
export function onOnePage(data: unknown[]) {
  return pageEnvelope(data, { page: 1, limit: 100 }, data.length);
}

const appId = uuid({ description: 'Of the app.' });
export const appParams = Type.Object({ appId });
export const keyParams = Type.Object({ appId, keyId: uuid({ description: 'Of the key.' }) });

const open: ErrorCode[] = ['validation_failed', 'rate_limited', 'internal_error', 'unavailable'];
const read: ErrorCode[] = [...open, 'unauthorized'];
const write: ErrorCode[] = [...read, 'forbidden', 'maintenance', 'payload_too_large'];
const withBody: ErrorCode[] = [...write, 'unsupported_media_type'];

/** The errors that an operation can return. */
export const portalErrors = {
  open,
  read,
  readOne: [...read, 'not_found'] as ErrorCode[],
  write,
  withBody,
  withBodyOne: [...withBody, 'not_found'] as ErrorCode[],
};

/** Descriptions that differ from those of an API with keys. */
const words: Partial<Record<ErrorCode, string>> = {
  unauthorized: 'Nobody is signed in.',
  forbidden: 'It comes from another site, or you may not do this.',
};

type Answer = { schema: TSchema; example: unknown };
type Answers = ReturnType<typeof responses>;

/** The `response` of a route schema. */
export function portalResponses(
  status: 200 | 201 | 202,
  description: string,
  body: Answer,
  errors: ErrorCode[],
  options: { conditional?: boolean } = {},
): Answers {
  const answers = responses(status, description, body, errors, options);
  for (const [code, said] of Object.entries(words) as [ErrorCode, string][]) {
    const key = code === 'unauthorized' ? '401' : '403';
    const answer = answers[key];
    if (!answer) continue;
    answer.description = said;
    // The portal's pages do not send such a header.
    delete answer.headers['WWW-Authenticate'];
    const json = answer.content?.['application/json'] as { schema: TSchema } | undefined;
    const examples = { [code]: { summary: said, value: errorBody(code, said, {}) } };
    answer.content = { 'application/json': { schema: json?.schema, examples } };
  }
  return answers;
}
