/** Generated from openapi.portal.json: npm run openapi. Do not edit. */

/** Something that happened to the account. */
export interface AccountActivityEntry {
  /** Counts up. */
  id: number;
  /** When it happened. */
  at: string;
  /** The action. */
  action: string;
  /** The address of the caller. */
  ipAddress: string | null;
  /** The caller's browser. */
  userAgent: string | null;
  /** More about the action. */
  details: {
    [k: string]: unknown;
  };
}

/** The fields to change. */
export interface AccountChanges {
  /** Your name, without control characters. */
  name: string;
}

/** A way to sign in. */
export interface AccountMethod {
  /** The id of the method. */
  id: string;
  /** `credential` for the password, else the provider’s id. */
  provider: string;
  /** When it was added. */
  createdAt: string;
}

/** A session of the account. */
export interface AccountSession {
  /** The id of the session. */
  id: string;
  /** Whether it is the session of this request. */
  current: boolean;
  /** The address that it was started from. */
  ipAddress: string | null;
  /** The browser that it was started with. */
  userAgent: string | null;
  /** When it was started. */
  createdAt: string;
  /** When it ends unless it is used before. */
  expiresAt: string;
}

/** What to change. */
export interface AppChanges {
  /** What to call it. */
  name: string;
}

/** One try to deliver. */
export interface Attempt {
  /** Counted from 1 within the delivery. */
  number: number;
  /** Why it was made. */
  trigger: 'event' | 'test' | 'redelivery';
  /** When it began. */
  startedAt: string;
  /** How long it took, in milliseconds. */
  durationMs: number;
  /** What the receiver answered; null: it did not. */
  statusCode: number | null;
  /** Why there was no answer. blocked: the address is one that must not be called. interrupted: the service stopped meanwhile. */
  error: 'dns' | 'connect' | 'tls' | 'timeout' | 'blocked' | 'reset' | 'interrupted' | null;
  /** What the receiver sent along. */
  responseHeaders: {
    [k: string]: string;
  } | null;
  /** The first 4 KiB, as text. */
  responseBody: string | null;
}

/** An organisation or alliance that an app could be bound to. */
export interface Bindable {
  /** What it is. */
  kind: 'organization' | 'alliance';
  /** Of the organisation or alliance. */
  id: string;
  /** Its name in addresses. */
  slug: string;
  /** Its name. */
  name: string;
  /** Whether you may bind an app to it. */
  available: boolean;
  /** Why you may not. */
  reason: string | null;
}

/** An event that can be delivered. */
export interface CatalogueEvent {
  /** Its name. */
  event: string;
  /** What it tells. */
  description: string;
  /** The JSON Schema of its `data`. */
  schema: {
    [k: string]: unknown;
  };
  /** A made-up `data`. */
  sample: {
    [k: string]: unknown;
  };
  /** Who may have it: every app, those bound to the organisation or alliance, or the one webhook that is tested. */
  audience: 'global' | 'organization' | 'alliance' | 'webhook';
}

/** A password, with the token of the link; for a new account also the name. */
export interface ChosenPassword {
  /** The part of the link behind `#`. */
  token: string;
  /** The password to sign in with from now on. */
  password: string;
  /** Your name, without control characters. */
  name?: string;
}

/** A new key. */
export interface CreatedKey {
  /** Of the key. */
  id: string;
  /** What its owner calls it. */
  name: string;
  /** Its last four characters. */
  last4: string;
  /** What it may do. */
  scopes: ('read:directory' | 'read:events' | 'write:webhooks')[];
  /** When it ends by itself; null: never. */
  expiresAt: string | null;
  /** When it was revoked. */
  revokedAt: string | null;
  /** When it was last used, at most a minute late. */
  lastUsedAt: string | null;
  /** When it was made. */
  createdAt: string;
  /** The key itself, shown this once. */
  key: string;
}

/** The new webhook and its secret. */
export interface CreatedWebhook {
  /** Its identifier. */
  id: string;
  /** Where deliveries are sent. */
  url: string;
  /** What its owner noted. */
  description: string | null;
  /** Null: every event that the app may have, later ones included. */
  events: string[] | null;
  /** Whether it gets new deliveries. */
  active: boolean;
  /** When it ceased to be active. */
  deactivatedAt: string | null;
  /** failing: deliveries failed in a row. gone: the receiver answers 410. owner: switched off. */
  deactivatedReason: 'failing' | 'gone' | 'owner' | null;
  /** When an attempt was last answered with 2xx. */
  lastSuccessAt: string | null;
  /** When an attempt last failed. */
  lastFailureAt: string | null;
  /** Deliveries that failed for good since the last success. */
  exhaustedInARow: number;
  /** Until when deliveries carry the signature of the secret before, too. */
  previousSecretExpiresAt: string | null;
  /** When it was registered. */
  createdAt: string;
  /** When its settings or its state last changed. */
  updatedAt: string;
  /** Shown this once. Deliveries are signed with it. */
  secret: string;
}

/** An address and its password. */
export interface Credentials {
  /** The address of the account. */
  email: string;
  /** The password. */
  password: string;
}

/** Says that an app is gone. */
export interface DeletedApp {
  /** Of the app that was. */
  id: string;
  /** Always true. */
  deleted: true;
}

/** Says that a webhook is gone. */
export interface DeletedWebhook {
  /** Of the webhook that was. */
  id: string;
  /** Always true. */
  deleted: true;
}

/** What was, or is to be, sent to a webhook. */
export interface Delivery {
  /** The same over all attempts; also the header X-Service-Delivery. */
  id: string;
  /** To which webhook it goes. */
  webhookId: string;
  /** The name of the event. */
  event: string;
  /** Which event it tells of; the same for every webhook. */
  eventId: string;
  /** failed: no attempt is left. cancelled: the webhook or its permission ended before it could succeed. */
  status: 'pending' | 'succeeded' | 'failed' | 'cancelled';
  /** Attempts made so far. */
  attemptCount: number;
  /** When the next attempt is due; null: none is. */
  nextAttemptAt: string | null;
  /** When it was queued. */
  createdAt: string;
  /** When it ended; null: it is pending. */
  completedAt: string | null;
}

/** A delivery with its body and its attempts. */
export interface DeliveryDetail {
  /** The same over all attempts; also the header X-Service-Delivery. */
  id: string;
  /** To which webhook it goes. */
  webhookId: string;
  /** The name of the event. */
  event: string;
  /** Which event it tells of; the same for every webhook. */
  eventId: string;
  /** failed: no attempt is left. cancelled: the webhook or its permission ended before it could succeed. */
  status: 'pending' | 'succeeded' | 'failed' | 'cancelled';
  /** Attempts made so far. */
  attemptCount: number;
  /** When the next attempt is due; null: none is. */
  nextAttemptAt: string | null;
  /** When it was queued. */
  createdAt: string;
  /** When it ended; null: it is pending. */
  completedAt: string | null;
  /** The exact bytes that are sent, as text. Null once the app may no longer have the event. */
  body: string | null;
  /**
   * What was tried, oldest first: the last 100 where it was sent again more often.
   *
   * @maxItems 100
   */
  attempts: Attempt[];
}

/** One hour of deliveries. */
export interface DeliveryHour {
  /** When the hour began. */
  start: string;
  /** Deliveries of this hour that succeeded. */
  succeeded: number;
  /** Those that failed for good. */
  failed: number;
  /** Those that wait for an attempt. */
  pending: number;
  /** Half of those that succeeded were answered within this. Null: nothing was answered. */
  latencyP50Ms: number | null;
  /** Nineteen of twenty were answered within this. Null: nothing was answered. */
  latencyP95Ms: number | null;
}

/** Says that it was done. */
export interface Done {
  /** Always true. */
  done: true;
}

/** The number of sessions that were ended. */
export interface EndedSessions {
  /** The number of sessions. */
  ended: number;
}

/** A key that ends soon. */
export interface ExpiringKey {
  /** Of the app. */
  appId: string;
  /** What the app is called. */
  appName: string;
  /** Of the key. */
  keyId: string;
  /** What its owner calls it. */
  name: string;
  /** Its last four characters. */
  last4: string;
  /** When it ends. */
  expiresAt: string;
}

/** The new account. */
export interface FirstAccount {
  /** The id of the new user. */
  userId: string;
}

/** An app to make. */
export interface NewApp {
  /** What to call it. */
  name: string;
}

/** What to bind an app to. */
export interface NewBinding {
  /** What it is. */
  kind: 'organization' | 'alliance';
  /** Its name in addresses. */
  slug: string;
}

/** The first account of this installation. */
export interface NewFirstAccount {
  /** The part of the link on the terminal behind `#`. */
  token: string;
  /** The address of the account. */
  email: string;
  /** Your name, without control characters. */
  name: string;
  /** The password to sign in with from now on. */
  password: string;
}

/** A key to make. */
export interface NewKey {
  /** What to call it. */
  name: string;
  /**
   * What it may do.
   *
   * @minItems 1
   */
  scopes: ('read:directory' | 'read:events' | 'write:webhooks')[];
  /** When it is to end by itself; null: never. */
  expiresAt?: string | null;
}

/** A webhook to register. */
export interface NewWebhook {
  /** Where to send: https, no credentials, no fragment. */
  url: string;
  /**
   * Which events. Without it: every event that the app may have, later ones included.
   *
   * @minItems 1
   * @maxItems 50
   */
  events?: string[] | null;
  /** A note for yourself. */
  description?: string | null;
}

/** A description of the API; not in the envelope. */
export interface OpenApiDocument {
  /** The version of OpenAPI. */
  openapi: string;
  [k: string]: unknown;
}

/** How your apps are doing. */
export interface Overview {
  maintenance: PortalMaintenance | null;
  /** Webhooks that fail or were deactivated. */
  webhooks: TroubledWebhook[];
  /** Keys that end within 14 days, the first one first. */
  keys: ExpiringKey[];
  /** What became of the deliveries of the last 24 hours; tests are left out. */
  deliveries: {
    /** False where there were so many that only the newest are counted. */
    complete: boolean;
    /** The last 24 hours by when deliveries were queued, oldest first. */
    hours: DeliveryHour[];
  };
}

/** A maintenance that is on; apps and what is theirs cannot be changed. */
export interface PortalMaintenance {
  /** What the operator says of it. */
  message: string | null;
  /** When it began. */
  since: string;
  /** When it is expected to end. */
  expectedEnd: string | null;
}

/** A webhook that needs its owner. */
export interface TroubledWebhook {
  /** Of the app. */
  appId: string;
  /** What the app is called. */
  appName: string;
  /** Of the webhook. */
  webhookId: string;
  /** Where it leads. */
  host: string;
  /** failing: its last deliveries failed, and it is still active. */
  state: 'failing' | 'deactivated';
  /** Why it was deactivated. */
  reason: 'failing' | 'gone' | 'owner' | null;
  /** When it was deactivated. */
  since: string | null;
  /** Deliveries that failed for good since the last success. */
  exhaustedInARow: number;
}

/** Where in the list this page is. */
export interface Pagination {
  /** The page that this is, counted from 1. */
  page: number;
  /** Entries on a full page. */
  limit: number;
  /** Entries on all pages together. */
  total: number;
  /** How many pages have entries. */
  totalPages: number;
}

/** The current password and a new one. */
export interface PasswordChange {
  /** The current password. */
  currentPassword: string;
  /** The password to sign in with from now on. */
  newPassword: string;
}

/** A link that can be used. */
export interface PasswordLink {
  /** The address that the link was sent to. */
  email: string;
  /** Whether there is an account with this address. */
  hasAccount: boolean;
}

/** The address to send a link to. */
export interface PasswordLinkRequest {
  /** The address of the account. */
  email: string;
}

/** The token of a link. */
export interface PasswordLinkToken {
  /** The part of the link behind `#`. */
  token: string;
}

/** The account whose password was set. */
export interface PasswordSet {
  /** The address of the account. */
  email: string;
  /** Whether the account is new. */
  created: boolean;
  /** The other ways to sign in to the account: remove those that are not yours. */
  methods: AccountMethod[];
}

/** What keys and webhooks belong to. */
export interface PortalApp {
  /** Of the app. */
  id: string;
  /** What its owner calls it. */
  name: string;
  binding: PortalBinding | null;
  /** Keys that are valid; those that have ended are not counted. */
  keyCount: number;
  /** Webhooks, active or not. */
  webhookCount: number;
  /** When it was made. */
  createdAt: string;
}

/** Whose internal events an app may have. */
export interface PortalBinding {
  /** What it is. */
  kind: 'organization' | 'alliance';
  /** Of the organisation or alliance. */
  id: string;
  /** Its name in addresses. */
  slug: string;
  /** Its name. */
  name: string;
}

/** One change of an app, or of what belongs to it. */
export interface PortalAuditEntry {
  /** Counts up. */
  id: number;
  /** When it was done. */
  at: string;
  /** Who did it. */
  actor: {
    /** key: over the API. user: in the portal. cli: whoever runs the service. system: the service itself. */
    kind: 'key' | 'user' | 'cli' | 'system';
    /** The key of this app, or yourself; null: somebody who is not yours to see. */
    name: string | null;
  };
  /** What was done. */
  action: string;
  /** Of the app. */
  appId: string;
  /** The name of the app, or the last name of a deleted app. */
  appName: string;
  /** Whether the app was deleted since. */
  appDeleted: boolean;
  /** What it was done to. */
  subject: {
    /** To what. */
    kind: string;
    /** Its identifier. */
    id: string | null;
    /** The name of the app or key, or the host of the webhook, at that time; null for anything else. */
    name: string | null;
  };
  /** What more is known. */
  details: {
    [k: string]: unknown;
  };
}

/** An event of the catalogue. */
export interface PortalEvent {
  /** Its name. */
  event: string;
  /** What it tells. */
  description: string;
  /** The JSON Schema of its `data`. */
  schema: {
    [k: string]: unknown;
  };
  /** A made-up `data`. */
  sample: {
    [k: string]: unknown;
  };
  /** Who may have it: every app, or those bound to the organisation or alliance. */
  audience: 'global' | 'organization' | 'alliance';
  /** Whether this app may have it now. */
  allowed: boolean;
  /** Why it may not. */
  reason: string | null;
}

/** A key of an app, without the key itself. */
export interface PortalKey {
  /** Of the key. */
  id: string;
  /** What its owner calls it. */
  name: string;
  /** Its last four characters. */
  last4: string;
  /** What it may do. */
  scopes: ('read:directory' | 'read:events' | 'write:webhooks')[];
  /** When it ends by itself; null: never. */
  expiresAt: string | null;
  /** When it was revoked. */
  revokedAt: string | null;
  /** When it was last used, at most a minute late. */
  lastUsedAt: string | null;
  /** When it was made. */
  createdAt: string;
}

/** Who is signed in, and until when. */
export interface PortalSession {
  /** Of the session. */
  id: string;
  user: PortalUser;
  /** When the session ends, unless it is used before. */
  expiresAt: string;
}

/** Whoever is signed in. */
export interface PortalUser {
  /** Of the user. */
  id: string;
  /** What they are called. */
  name: string;
  /** Their address; ending in `.invalid`: what a provider calls them that does not vouch for an address. */
  email: string;
  /** The address of a picture. */
  image: string | null;
}

/** Where to go to sign in with the provider. */
export interface ProviderRedirect {
  /** The address to send the browser to. */
  url: string;
}

/** A provider, and where to return to. */
export interface ProviderRequest {
  /** The provider's id, from the sign-in options. */
  provider: string;
  /** The page of the portal to return to. */
  callbackURL: string;
  /** The page to return to, with `?error=`, if it fails. */
  errorCallbackURL: string;
}

/** From when on to recover. */
export interface RecoverRequest {
  /** Deliveries that ended at this time or later; at most 14 days ago. */
  since: string;
}

/** What was brought back. */
export interface Recovered {
  /** Deliveries that are pending again. */
  count: number;
}

/** How to change over. */
export interface RotateKeyRequest {
  /** How long the old key stays valid. */
  overlapSeconds?: number;
}

/** How to change over. */
export interface RotateSecretRequest {
  /** How long the old secret stays valid. */
  overlapSeconds?: number;
}

/** A new key in the place of an old one. */
export interface RotatedKey {
  /** Of the key. */
  id: string;
  /** What its owner calls it. */
  name: string;
  /** Its last four characters. */
  last4: string;
  /** What it may do. */
  scopes: ('read:directory' | 'read:events' | 'write:webhooks')[];
  /** When it ends by itself; null: never. */
  expiresAt: string | null;
  /** When it was revoked. */
  revokedAt: string | null;
  /** When it was last used, at most a minute late. */
  lastUsedAt: string | null;
  /** When it was made. */
  createdAt: string;
  /** The key itself, shown this once. */
  key: string;
  /** The key that it takes the place of. */
  previous: {
    /** Of the key. */
    id: string;
    /** Until when it still opens something. */
    endsAt: string;
  };
}

/** In what ways one can sign in here. */
export interface SignInOptions {
  /** Signing in with an address and a password. */
  password: {
    /** Whether accounts can be made, and passwords be replaced, by a link. */
    signUp: boolean;
    /** Where such a link goes: to the address, or onto the terminal of the service; null: there is none. */
    links: 'mail' | 'terminal' | null;
    /** The fewest characters of a password. */
    lengthMin: number;
    /** The most characters of a password. */
    lengthMax: number;
  };
  /** Where else one may come from. */
  providers: SignInProvider[];
}

/** Somewhere else to sign in with. */
export interface SignInProvider {
  /** What to call it in requests. */
  id: string;
  /** For people. */
  name: string;
}

/** A registered receiver of events. */
export interface Webhook {
  /** Its identifier. */
  id: string;
  /** Where deliveries are sent. */
  url: string;
  /** What its owner noted. */
  description: string | null;
  /** Null: every event that the app may have, later ones included. */
  events: string[] | null;
  /** Whether it gets new deliveries. */
  active: boolean;
  /** When it ceased to be active. */
  deactivatedAt: string | null;
  /** failing: deliveries failed in a row. gone: the receiver answers 410. owner: switched off. */
  deactivatedReason: 'failing' | 'gone' | 'owner' | null;
  /** When an attempt was last answered with 2xx. */
  lastSuccessAt: string | null;
  /** When an attempt last failed. */
  lastFailureAt: string | null;
  /** Deliveries that failed for good since the last success. */
  exhaustedInARow: number;
  /** Until when deliveries carry the signature of the secret before, too. */
  previousSecretExpiresAt: string | null;
  /** When it was registered. */
  createdAt: string;
  /** When its settings or its state last changed. */
  updatedAt: string;
}

/** What to change; what is left out stays. */
export interface WebhookChanges {
  /** Where to send: https, no credentials, no fragment. */
  url?: string;
  /**
   * Which events. Without it: every event that the app may have, later ones included.
   *
   * @minItems 1
   * @maxItems 50
   */
  events?: string[] | null;
  /** A note for yourself. */
  description?: string | null;
  /** True activates it again and clears the count of failures; false switches it off and ends what is pending. */
  active?: boolean;
}

/** What a test is to hold. */
export interface WebhookTestRequest {
  /** An event whose sample the test is to hold. */
  event?: string | null;
}

/** What `listAccountActivity` can be asked for. */
export interface ListAccountActivityQuery {
  /** Counts from 1. A page past the last is empty. */
  page?: number;
  /** Entries a page. */
  limit?: number;
}

/** What `listAudit` can be asked for. */
export interface ListAuditQuery {
  /** Counts from 1. A page past the last is empty. */
  page?: number;
  /** Entries a page. */
  limit?: number;
  /** Only what was done to this app. */
  app?: string;
}

/** What `listBindable` can be asked for. */
export interface ListBindableQuery {
  /** Counts from 1. A page past the last is empty. */
  page?: number;
  /** Entries a page. */
  limit?: number;
  /** Text to find, regardless of case and accents, in what is not available too. */
  search?: string;
}

/** What `listKeys` can be asked for. */
export interface ListKeysQuery {
  /** Counts from 1. A page past the last is empty. */
  page?: number;
  /** Entries a page. */
  limit?: number;
}

/** What `listWebhooks` can be asked for. */
export interface ListWebhooksQuery {
  /** Counts from 1. A page past the last is empty. */
  page?: number;
  /** Entries a page. */
  limit?: number;
}

/** What `listDeliveries` can be asked for. */
export interface ListDeliveriesQuery {
  /** Counts from 1. A page past the last is empty. */
  page?: number;
  /** Entries a page. */
  limit?: number;
  /** Only those in this state. */
  status?: 'pending' | 'succeeded' | 'failed' | 'cancelled';
  /** Only those of this event. */
  event?:
    | 'org.created'
    | 'alliance.created'
    | 'blueprint.sync.completed'
    | 'chat.sync.completed'
    | 'system.maintenance.enabled'
    | 'system.maintenance.disabled'
    | 'application.created'
    | 'event.created'
    | 'resource.request.created'
    | 'resource.offer.created'
    | 'webhook.test';
  /** Only those queued at this time or later. */
  since?: string;
  /** Only those queued before this time. */
  until?: string;
}
