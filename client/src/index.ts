export { createClient, type Client } from './create-client.ts';
export type { ClientOptions, RequestOptions, RetryDetails } from './options.ts';
export type { Alliances, Blueprints, Directory, Orgs } from './directory.ts';
export type { Download } from './download.ts';
export type { DirectoryEvent, EventPage, Events, EventsQuery, FollowQuery } from './events.ts';
export type { MirrorEntries, MirrorKind, MirrorOptions, MirrorStore } from './mirror.ts';
export type { AllQuery, Page } from './pages.ts';
export type { Deliveries, DeliveriesQuery, ExplainQuery, Webhooks } from './webhooks.ts';
export type * from './types.ts';

export { verifyWebhook, type VerifyWebhookOptions } from './verify-webhook.ts';
export { signWebhook, type SignedWebhook, type SignWebhookOptions } from './sign-webhook.ts';
export type { WebhookHeaders } from './header-reader.ts';

export { OrgdirError } from './orgdir-error.ts';
export { ApiError, type ApiErrorCode } from './api-error.ts';
export { NetworkError } from './network-error.ts';
export { TimeoutError } from './timeout-error.ts';
export { UnexpectedResponseError } from './unexpected-response-error.ts';
export {
  WebhookVerificationError,
  type WebhookVerificationReason,
} from './webhook-verification-error.ts';
