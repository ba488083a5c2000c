export { OrgdirError } from './orgdir-error.ts';
export type { WebhookHeaders } from './header-reader.ts';
export { verifyWebhook, type VerifyWebhookOptions } from './verify-webhook.ts';
export {
  WebhookVerificationError,
  type WebhookVerificationReason,
} from './webhook-verification-error.ts';
export type * from './types.ts';
