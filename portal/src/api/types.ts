/** Generated from openapi.portal.json: npm run openapi. Do not edit. */

/** An entry of the account activity. */
export interface AccountActivityEntry {
  /** An increasing number. */
  id: number;
  /** When the action happened. */
  at: string;
  /** The action. */
  action: string;
  /** The IP address of the caller. */
  ipAddress: string | null;
  /** The caller's user agent. */
  userAgent: string | null;
  /** Details of the action. */
  details: {
    [k: string]: unknown;
  };
}

/** The fields to change. */
export interface AccountChanges {
  /** Your name, without control characters. */
  name: string;
}

/** What goes with the account. */
export interface AccountDeletion {
  /** The apps without another owner that are not suspended. */
  appsToDelete: AppToDelete[];
  /** The apps with another owner, and suspended apps. */
  appsToLeave: AppToLeave[];
  /** The bindings that you made. */
  endingBindings: EndingBinding[];
  /** The organisations and alliances that you manage, at most 100. They keep your address as a manager until they remove it. */
  managed: ManagedName[];
  /** The number of organisations and alliances that you manage. */
  managedCount: number;
}

/** An app that is deleted with the account. */
export interface AppToDelete {
  /** The id of the app. */
  id: string;
  /** The name of the app. */
  name: string;
  /** The number of valid keys. */
  keyCount: number;
  /** The number of webhooks. */
  webhookCount: number;
  /** The number of pending deliveries, at most 10,000. */
  pendingDeliveryCount: number;
  /** The number of other members, none of whom is an owner. */
  otherMemberCount: number;
}

/** An app that stays. */
export interface AppToLeave {
  /** The id of the app. */
  id: string;
  /** The name of the app. */
  name: string;
  /** Your role in the app. */
  role: 'viewer' | 'developer' | 'owner';
}

/** A binding that you made and that ends. */
export interface EndingBinding {
  /** The id of the app. */
  appId: string;
  /** The name of the app. */
  appName: string;
  /** The kind of the object. */
  kind: 'organization' | 'alliance';
  /** The unique name in URLs. */
  slug: string;
  /** The name of the organisation or alliance. */
  name: string;
}

/** An organisation or alliance. */
export interface ManagedName {
  /** The kind of the object. */
  kind: 'organization' | 'alliance';
  /** The unique name in URLs. */
  slug: string;
  /** The name of the organisation or alliance. */
  name: string;
}

/** Confirms the deletion of the account. */
export interface AccountDeletionRequest {
  /** The email address of the account. */
  email: string;
  /**
   * The ids of the apps that are deleted with the account.
   *
   * @maxItems 1000
   */
  apps: string[];
}

/** All data about a user. Secrets are left out. */
export interface AccountExport {
  /** When the export began. */
  exportedAt: string;
  account: ExportedAccount;
  /** The ways to sign in, without secrets. */
  methods: AccountMethod[];
  secondFactor: SecondFactorState;
  /** The sessions, newest first. */
  sessions: AccountSession[];
  /** The apps that you are a member of. */
  apps: PortalApp[];
  /** The keys of these apps. */
  keys: ExportedKey[];
  /** The webhooks of these apps. Of those of an app whose viewer you are, only the origin of the URL. */
  webhooks: ExportedWebhook[];
  /** Invitations to you. */
  invitations: OwnInvitation[];
  /** The organisations and alliances that you manage. */
  managed: ManagedSubject[];
  /** The entries about your account, newest first: sign-ins and changes. */
  activity: ExportedAuditEntry[];
  /** Your changes to everything else in the portal, newest first. What an operator does in the console is about others, and left out. */
  changes: ExportedAuditEntry[];
}

/** The account. */
export interface ExportedAccount {
  /** The id of the account. */
  id: string;
  /** Your name. */
  name: string;
  /** The address of the account. */
  email: string;
  /** The URL of a picture. */
  image: string | null;
  /** When the account was created. */
  createdAt: string;
  /** Your role in the console, if you have one. */
  operatorRole: 'operator' | 'read-only' | null;
  /** Whether you want announcements of the operator by mail while you own an app. */
  announcementMails: boolean;
}

/** A sign-in method. */
export interface AccountMethod {
  /** The id of the sign-in method. */
  id: string;
  /** `credential` for a password, otherwise the provider's id. */
  provider: string;
  /** When the method was added. */
  createdAt: string;
}

/** The second factor of the account. */
export interface SecondFactorState {
  /** The passkeys, oldest first. */
  passkeys: Passkey[];
  authenticator: Authenticator | null;
  /** The number of recovery codes that still work. */
  recoveryCodesLeft: number;
}

/** A passkey of the account. */
export interface Passkey {
  /** The id of the passkey. */
  id: string;
  /** The name of the passkey. */
  name: string;
  /** When the passkey was added. */
  createdAt: string;
  /** When the passkey was last used. */
  lastUsedAt: string | null;
}

/** The authenticator app of the account. */
export interface Authenticator {
  /** When the authenticator app was added. */
  addedAt: string;
}

/** A session of the account. */
export interface AccountSession {
  /** The id of the session. */
  id: string;
  /** Whether this request uses this session. */
  current: boolean;
  /** The IP address that started the session. */
  ipAddress: string | null;
  /** The user agent that started the session. */
  userAgent: string | null;
  /** When the session started. */
  createdAt: string;
  /** When the session expires if it is not used. */
  expiresAt: string;
}

/** An app, which owns keys and webhooks. */
export interface PortalApp {
  /** The id of the app. */
  id: string;
  /** The name of the app. */
  name: string;
  /** Your role in the app. */
  role: 'viewer' | 'developer' | 'owner';
  /** Whether you are the only owner, and so cannot leave the app. */
  isLastOwner: boolean;
  /** Whether you want mail about failing webhooks. Viewers get none. */
  failureMails: boolean;
  binding: PortalBinding | null;
  /** The number of valid keys, without temporary ones. */
  keyCount: number;
  /** The number of webhooks, active or not. */
  webhookCount: number;
  quotas?: AppQuotas;
  /** When the operator suspended the app. */
  suspendedAt: string | null;
  /** Why the operator suspended the app. Null if it is not suspended. */
  suspendedReason: string | null;
  /** When the app was created. */
  createdAt: string;
}

/** The organisation or alliance whose internal events an app receives. */
export interface PortalBinding {
  /** The kind of the object. */
  kind: 'organization' | 'alliance';
  /** The id of the organisation or alliance. */
  id: string;
  /** The unique name in URLs. */
  slug: string;
  /** The name of the organisation or alliance. */
  name: string;
  /** The address of the owner who bound the app. The binding ends when they stop being an owner of the app or a manager of the organisation or alliance. */
  boundBy: string;
}

/** How much the app may have and use. */
export interface AppQuotas {
  /** How many webhooks the app can have. */
  webhooks: number;
  /** How many valid keys the app can have. */
  keys: number;
  /** How many members the app can have. */
  members: number;
  /** How many requests per minute all keys of the app can make together, if the operator has set it. Null: the usual limits of keys and apps. */
  requestsPerMinute: number | null;
}

/** A key of an app, without its value. */
export interface ExportedKey {
  /** The id of the app. */
  appId: string;
  /** The id of the key. */
  id: string;
  /** The name of the key. */
  name: string;
  /** The last four characters of the key. */
  last4: string;
  /** The scopes of the key. */
  scopes: ('read:directory' | 'read:events' | 'write:webhooks')[];
  /** When the key expires. Null if it does not expire. */
  expiresAt: string | null;
  /** When the key was revoked. */
  revokedAt: string | null;
  /** When the operator suspended the key. */
  suspendedAt: string | null;
  /** Why the operator suspended the key. Null if it is not suspended. */
  suspendedReason: string | null;
  /** When the key was last used, up to a minute late. */
  lastUsedAt: string | null;
  /** The number of requests with the key since midnight UTC, up to a minute late. */
  usesToday: number;
  /** When the key was created. */
  createdAt: string;
}

/** A webhook, without its secret. */
export interface ExportedWebhook {
  /** The id of the app. */
  appId: string;
  /** The unique identifier. */
  id: string;
  /** The URL that deliveries are sent to. Of a chat channel, only its origin: the rest authorises whoever has it, and is never shown again. */
  url: string;
  /** What a request looks like. `json`: the signed event. `discord`, `slack` and `teams`: a message for a channel of that platform. It never changes. New values may be added. */
  format?: 'json' | 'discord' | 'slack' | 'teams';
  /** A description of the webhook. */
  description: string | null;
  /** The names of the events to send. Null for all events that the app can receive, including future ones, except those marked opt-in. */
  events: string[] | null;
  /** Filters by the name of an event: only events that match are sent. Events that are not named pass. Null for none. */
  filters?: {
    [k: string]: unknown;
  } | null;
  /** Whether the webhook receives events. */
  active: boolean;
  /** The first that applies. `suspended`: by the operator. `deactivated`: see `deactivatedReason`. `failing`: deliveries failed after all attempts, and none has succeeded since. `retrying`: the last attempt failed, and the delivery is tried again. `new`: no attempt has ended yet. `healthy`: the last attempt succeeded. Tests and probes do not count. New values may be added. */
  health?: 'suspended' | 'deactivated' | 'failing' | 'retrying' | 'new' | 'healthy';
  /** When the webhook was deactivated. */
  deactivatedAt: string | null;
  /** `failing`: too many deliveries in a row failed. `gone`: the receiver responded with 410, or the chat channel or its webhook was deleted. `owner`: the owner deactivated it. New values may be added. */
  deactivatedReason: 'failing' | 'gone' | 'owner' | null;
  /** When the operator suspended the webhook or its app. */
  suspendedAt: string | null;
  /** Why the operator suspended the webhook or its app. Null if it is not suspended. */
  suspendedReason: string | null;
  /** Whether the service probes the webhook after it was deactivated as `failing`, and activates it when it responds again. */
  selfHealing: boolean;
  /** Whether what the webhook missed is replayed when probes activate it. */
  replayAfterHealing: boolean;
  /** When an attempt last succeeded. */
  lastSuccessAt: string | null;
  /** When an attempt last failed. */
  lastFailureAt: string | null;
  /** The number of failed deliveries since the last success. */
  exhaustedInARow: number;
  /** When the next probe of the webhook is due: in the past while the service cannot make it, for example because it cannot read the secret. Null if it does not probe it. */
  nextProbeAt: string | null;
  /** When the previous secret expires. Until then, deliveries are signed with both secrets. */
  previousSecretExpiresAt: string | null;
  /** The names of the headers that you added. Their values are not returned. */
  headerNames?: string[];
  /** When the webhook was created. */
  createdAt: string;
  /** When the settings or the state of the webhook last changed. */
  updatedAt: string;
}

/** An invitation to you. */
export interface OwnInvitation {
  /** The id of the invitation. */
  id: string;
  /** The invited address. */
  email: string;
  /** The role that the invited person gets. */
  role: 'viewer' | 'developer' | 'owner';
  /** The address of the owner who made the invitation. */
  invitedBy: string;
  /** When the invitation was created. */
  createdAt: string;
  /** When the invitation expires. */
  expiresAt: string;
  /** The name of the app. */
  appName: string;
}

/** An organisation or alliance. */
export interface ManagedSubject {
  /** The kind of the object. */
  kind: 'organization' | 'alliance';
  /** The id of the object. */
  id: string;
  /** The unique name in URLs. */
  slug: string;
  /** The name of the organisation or alliance. */
  name: string;
}

/** An entry of the audit log. */
export interface ExportedAuditEntry {
  /** An increasing number. */
  id: number;
  /** When it happened. */
  at: string;
  /** The action. */
  action: string;
  /** The object that was changed. */
  subject: {
    /** The kind of the object that was changed. */
    kind: string;
    /** The id of the object, if it has one. */
    id: string | null;
  };
  /** The id of the app, if it is about one. */
  appId: string | null;
  /** Details of the action. */
  details: {
    [k: string]: unknown;
  };
}

/** The preferences to change. */
export interface AccountPreferenceChanges {
  /** Whether you want announcements of the operator by mail while you own an app. */
  announcementMails: boolean;
}

/** What you have chosen for your account. */
export interface AccountPreferences {
  /** Whether you want announcements of the operator by mail while you own an app. */
  announcementMails: boolean;
}

/** A second factor was added. */
export interface AddedFactor {
  /** Recovery codes, if there were none. Only this response has them; each works once. */
  recoveryCodes: string[] | null;
}

/** A change of address that can be confirmed. */
export interface AddressChange {
  /** The new email address. */
  email: string;
  /** The bindings that end with the change, because the new address does not manage the organisation or alliance. */
  endingBindings: EndingBinding[];
}

/** The new email address of the account. */
export interface AddressChangeRequest {
  /** The email address of the account. */
  email: string;
}

/** The token of a link that changes the address. */
export interface AddressChangeToken {
  /** The part of the link after `#`. */
  token: string;
}

/** The fields to change. Omitted fields stay the same. */
export interface AllianceChanges {
  /** The new slug. The old one stays reserved for 30 days. */
  slug?: string;
  /** The name. */
  name?: string;
  /** A short form of the name. Not unique. */
  tag?: string | null;
  /** A description in plain text. */
  description?: string | null;
  /** The URL of the logo. */
  logoUrl?: string | null;
  /** The URL of the banner, a wide image. */
  bannerUrl?: string | null;
  /** Links to other sites. Omitted links stay the same. */
  links?: {
    website?: string | null;
    chat?: string | null;
    video?: string | null;
    social?: string | null;
  };
  /** Whether the alliance accepts new organisations. */
  recruiting?: boolean;
  /** When the alliance was founded. */
  foundedAt?: string | null;
  /**
   * All other names. If omitted, they stay the same.
   *
   * @maxItems 10
   */
  aliases?: string[];
  /** `disbanded` alliances stay in the directory. */
  status?: 'active' | 'disbanded';
  /**
   * The email addresses of all managers. If omitted, the managers stay the same.
   *
   * @maxItems 2000
   */
  managers?: string[];
  /**
   * The slugs of all members. A member of another alliance leaves it. If omitted, the members stay the same.
   *
   * @maxItems 5000
   */
  orgs?: string[];
}

/** A complete alliance. Omitted fields get their defaults. */
export interface AllianceInput {
  /** Must be the slug in the URL. Use `PATCH` to rename. */
  slug?: string;
  /** The name. */
  name: string;
  /** A short form of the name. Not unique. */
  tag?: string | null;
  /** A description in plain text. */
  description?: string | null;
  /** The URL of the logo. */
  logoUrl?: string | null;
  /** The URL of the banner, a wide image. */
  bannerUrl?: string | null;
  /** Links to other sites. */
  links?: {
    website?: string | null;
    chat?: string | null;
    video?: string | null;
    social?: string | null;
  };
  /** Whether the alliance accepts new organisations. */
  recruiting?: boolean;
  /** When the alliance was founded. */
  foundedAt?: string | null;
  /**
   * All other names. If omitted, they stay the same.
   *
   * @maxItems 10
   */
  aliases?: string[];
  /** `disbanded` alliances stay in the directory. */
  status?: 'active' | 'disbanded';
  /**
   * The email addresses of all managers. If omitted, the managers stay the same.
   *
   * @maxItems 2000
   */
  managers?: string[];
  /**
   * The slugs of all members. A member of another alliance leaves it. If omitted, the members stay the same.
   *
   * @maxItems 5000
   */
  orgs?: string[];
}

/** A summary of an alliance. */
export interface AllianceReference {
  /** The unique identifier. */
  id: string;
  /** The unique name in URLs. */
  slug: string;
  /** The name of the alliance. */
  name: string;
  /** A short form of the name. */
  tag: string | null;
}

/** What the operator announces. */
export interface Announcement {
  /** The id of the announcement. */
  id: string;
  /** How serious it is. More may be added. New values may be added. */
  severity: 'info' | 'warning' | 'critical';
  /** What the operator says. */
  text: string;
  /** When it takes place. Null: now. */
  startsAt: string | null;
  /** Until when it is shown. Null: until the operator ends it. */
  endsAt: string | null;
  /** When it was announced. */
  createdAt: string;
}

/** The fields to change. */
export interface AppChanges {
  /** The name of the app, without control characters. */
  name: string;
}

/** An event that the app can receive. */
export interface AppEvent {
  /** The id of the event: the `eventId` of its deliveries. */
  id: string;
  /** The name of the event. */
  event: string;
  /** When the event happened. */
  createdAt: string;
  subject: DeliverySubject | null;
  /** Every webhook of the app. */
  webhooks: EventOutcome[];
}

/** The organisation or alliance that the event is about. Null if there is none, if it was deleted, or if the app may no longer receive the event. */
export interface DeliverySubject {
  /** The kind of the object. */
  kind: 'organization' | 'alliance';
  /** The unique name in URLs. */
  slug: string;
  /** The name of the organisation or alliance. */
  name: string;
}

/** What became of the event at a webhook, and why. */
export interface EventOutcome {
  /** The id of the webhook. */
  webhookId: string;
  /** `unavailable`: The event is not available to this app. `waiting`: The event is being processed, or an error of the service keeps it back. `delivered`: There is a delivery; its status says what happened. `not_sent`: The event was not sent to the webhook. `would_send`: An event at that time is sent to the webhook. `unknown`: There is no record of the settings at that time. New values may be added. */
  result: 'unavailable' | 'waiting' | 'delivered' | 'not_sent' | 'would_send' | 'unknown';
  /** What happened and what you can change, for people to read. */
  message: string;
  delivery: EventDelivery | null;
}

/** The delivery. Null if there is none. */
export interface EventDelivery {
  /** The id of the delivery, the same for all attempts. Also sent as `X-Service-Delivery`. */
  id: string;
  /** `failed`: all attempts failed. `cancelled`: the webhook was deactivated, suspended or deleted, or the app lost access to the event. New values may be added. */
  status: 'pending' | 'succeeded' | 'failed' | 'cancelled';
}

/** An invitation to become a member of an app. */
export interface AppInvitation {
  /** The id of the invitation. */
  id: string;
  /** The invited address. */
  email: string;
  /** The role that the invited person gets. */
  role: 'viewer' | 'developer' | 'owner';
  /** The address of the owner who made the invitation. */
  invitedBy: string;
  /** When the invitation was created. */
  createdAt: string;
  /** When the invitation expires. */
  expiresAt: string;
}

/** A member of an app. */
export interface AppMember {
  /** The id of the member. */
  id: string;
  /** The address of the member. */
  email: string;
  /** The name of the account. Null if there is no account yet. */
  name: string | null;
  /** The role of the member. */
  role: 'viewer' | 'developer' | 'owner';
  /** Whether you are this member. */
  isYou: boolean;
  /** When the member was added. */
  createdAt: string;
}

/** The fields to change. */
export interface AppMemberChanges {
  /** The new role. */
  role: 'viewer' | 'developer' | 'owner';
}

/** To whom to transfer the app. */
export interface AppTransfer {
  /** The id of the member who becomes an owner. */
  memberId: string;
}

/** What an app used, by day and by key. */
export interface AppUsage {
  /** The days, oldest first. */
  days: UsedDay[];
  /** The keys that were used on these days, at most 100, those with the most requests first. */
  keys: UsedKey[];
}

/** What an app used on one day. */
export interface UsedDay {
  /** The day. */
  day: string;
  /** The number of requests with a key. */
  requests: number;
  /** Those of them with a status of 4xx or 5xx, or that broke off. */
  errors: number;
  /** The size of the responses, with their headers, in bytes. */
  bytes: number;
  /** The number of events that GET /events returned. */
  events: number;
  /** The number of deliveries that were queued and have ended. */
  deliveries: number;
}

/** What one key used. */
export interface UsedKey {
  /** The id of the key. */
  keyId: string;
  /** The name of the key. Null if it was deleted. */
  name: string | null;
  /** The last four characters of the key. Null if it was deleted. */
  last4: string | null;
  /** The number of requests with a key. */
  requests: number;
  /** Those of them with a status of 4xx or 5xx, or that broke off. */
  errors: number;
  /** The size of the responses, with their headers, in bytes. */
  bytes: number;
  /** The number of events that GET /events returned. */
  events: number;
}

/** An attempt to send a delivery. */
export interface Attempt {
  /** The number of the attempt within the delivery, starting at 1. */
  number: number;
  /** What caused the attempt. `test`: you tested the webhook, or the service probed it. */
  trigger: 'event' | 'test' | 'redelivery';
  /** When the attempt started. */
  startedAt: string;
  /** The duration of the attempt in milliseconds. */
  durationMs: number;
  /** The HTTP status of the response. Null if there was none. */
  statusCode: number | null;
  /** Why there was no response. `blocked`: the address is not allowed. `interrupted`: the service stopped during the attempt. New values may be added. */
  error: 'dns' | 'connect' | 'tls' | 'timeout' | 'blocked' | 'reset' | 'interrupted' | null;
  /** What is known of an error `connect` or `tls`. `certificate_incomplete`: the intermediate certificates are missing, or nobody trusts the issuer. Null if nothing is known. New values may be added. */
  errorCause:
    | 'refused'
    | 'unreachable'
    | 'not_tls'
    | 'tls_version'
    | 'certificate_expired'
    | 'certificate_not_yet_valid'
    | 'certificate_wrong_host'
    | 'certificate_incomplete'
    | 'certificate_untrusted'
    | 'client_certificate_required'
    | null;
  /** The headers of the response. */
  responseHeaders: {
    [k: string]: string;
  } | null;
  /** The first 4 KiB of the response body, as text. */
  responseBody: string | null;
}

/** An organisation or alliance that apps can be bound to. */
export interface Bindable {
  /** The kind of the object. */
  kind: 'organization' | 'alliance';
  /** The id of the organisation or alliance. */
  id: string;
  /** The unique name in URLs. */
  slug: string;
  /** The name of the organisation or alliance. */
  name: string;
  /** Whether you can bind an app to it. */
  available: boolean;
  /** Why you cannot bind an app to it. */
  reason: string | null;
}

/** A crafting recipe. */
export interface Blueprint {
  /** The unique identifier. */
  id: string;
  /** The unique name in URLs. */
  slug: string;
  /** The unique key in the source. It never changes. */
  key: string;
  /** The name. */
  name: string;
  /** A description in plain text. */
  description: string | null;
  /** The category of the product. */
  category: string;
  output: BlueprintOutput;
  /** The duration of one run in seconds. Null if unknown. */
  craftTimeSeconds: number | null;
  /** The ingredients that one run uses. */
  ingredients: Ingredient[];
  /** The places where the blueprint is found or used. */
  sources: BlueprintSource[];
  /** The release of the source that it was read from. */
  version: string | null;
  /** Whether the source still has the blueprint. */
  active: boolean;
  /** When the blueprint disappeared from the source. */
  retiredAt: string | null;
  /** When the object was created. */
  createdAt: string;
  /** When a field of this object last changed. */
  updatedAt: string;
}

/** The product of a blueprint. */
export interface BlueprintOutput {
  /** The key of the item. */
  item: string;
  /** The name of the item. */
  name: string;
  /** The quantity that one run produces. */
  quantity: number;
}

/** An ingredient of a blueprint. */
export interface Ingredient {
  /** The key of the item. */
  item: string;
  /** The name of the item. */
  name: string;
  /** The quantity that one run uses. */
  quantity: number;
  /** The unit of the quantity. Null means pieces. */
  unit: string | null;
}

/** A place where the blueprint is found or used. */
export interface BlueprintSource {
  /** The kind of place or reward. */
  kind: string;
  /** The name of the source. */
  name: string;
}

/** The fields to change. Omitted fields stay the same. The key cannot change. */
export interface BlueprintChanges {
  /** The new slug. The old one stays reserved for 30 days. */
  slug?: string;
  /** The name. */
  name?: string;
  /** A description in plain text. */
  description?: string | null;
  /** The category of the product. */
  category?: string;
  output?: BlueprintOutput;
  /** The duration of one run in seconds. Null if unknown. */
  craftTimeSeconds?: number | null;
  /**
   * The ingredients that one run uses.
   *
   * @maxItems 200
   */
  ingredients?: {
    item: string;
    name: string;
    quantity: number;
    unit?: string | null;
  }[];
  /**
   * The places where the blueprint is found or used.
   *
   * @maxItems 50
   */
  sources?: BlueprintSource[];
  /** The release of the source that it was read from. */
  version?: string | null;
  /** Whether the source still has the blueprint. */
  active?: boolean;
  /** When the blueprint disappeared from the source. Only allowed with `active: false`. Defaults to the time of the first write with `active: false`. */
  retiredAt?: string | null;
}

/** A complete blueprint. Omitted fields get their defaults. */
export interface BlueprintInput {
  /** The unique name in URLs. */
  slug?: string | null;
  /** Must be the key in the URL. */
  key?: string;
  /** The name. */
  name: string;
  /** A description in plain text. */
  description?: string | null;
  /** The category of the product. */
  category: string;
  output: BlueprintOutput;
  /** The duration of one run in seconds. Null if unknown. */
  craftTimeSeconds?: number | null;
  /**
   * The ingredients that one run uses.
   *
   * @maxItems 200
   */
  ingredients?: {
    item: string;
    name: string;
    quantity: number;
    unit?: string | null;
  }[];
  /**
   * The places where the blueprint is found or used.
   *
   * @maxItems 50
   */
  sources?: BlueprintSource[];
  /** The release of the source that it was read from. */
  version?: string | null;
  /** Whether the source still has the blueprint. */
  active?: boolean;
  /** When the blueprint disappeared from the source. Only allowed with `active: false`. Defaults to the time of the first write with `active: false`. */
  retiredAt?: string | null;
}

/** The options of the run. Its source is part of the configuration. */
export interface BlueprintSyncRequest {
  /** Continue even if more than half of the active blueprints would be retired. */
  force?: boolean;
  /** Skip invalid rows. Their blueprints stay unchanged. */
  skipBad?: boolean;
}

/** An event that can be delivered. */
export interface CatalogueEvent {
  /** The name of the event. */
  event: string;
  /** When the event occurs. */
  description: string;
  /** Whether only webhooks that name the event get it. */
  optIn: boolean;
  /** The JSON Schema of its `data`. */
  schema: {
    [k: string]: unknown;
  };
  /** An example of its `data`. */
  sample: {
    [k: string]: unknown;
  };
  /** What a chat channel shows of the example. */
  message: {
    /** What happened. */
    title: string;
    /** More about it. */
    text: string | null;
    /**
     * Details.
     *
     * @maxItems 25
     */
    fields: {
      /** The name of the field. */
      name: string;
      /** The value of the field. */
      value: string;
    }[];
    /** A page about the subject. */
    url: string | null;
    /** The kind of news, shown as a colour. */
    color: 'good' | 'info' | 'warning' | 'bad';
    /** When it happened. */
    time: string;
  };
  /** Who can receive the event: every app, apps bound to the organisation or alliance, or the webhook that is tested. */
  audience: 'global' | 'organization' | 'alliance' | 'webhook';
}

/** Confirms the change of the address. */
export interface ChangedAddress {
  /** The new email address. */
  email: string;
}

/** How many rows have changed. */
export interface ChangedRows {
  /** How many rows. */
  count: number;
}

/** What a suspension or its end has changed. */
export interface ChangedSuspension {
  /** The id of what was suspended or restored. */
  id: string;
  /** False if it was like that already. */
  changed: boolean;
  /** Pending deliveries that were cancelled. Null: it has none. */
  cancelled: number | null;
  /** How many owners get a mail, if the service sends any. */
  mailed: number;
}

/** This request has no options. */
export interface ChatSyncRequest {}

/** A new password and the token of the link. A new account also needs a name. */
export interface ChosenPassword {
  /** The part of the link after `#`. */
  token: string;
  /** The new password. */
  password: string;
  /** Your name, without control characters. */
  name?: string;
}

/** A new key. */
export interface CreatedKey {
  /** The id of the key. */
  id: string;
  /** The name of the key. */
  name: string;
  /** The last four characters of the key. */
  last4: string;
  /** The scopes of the key. */
  scopes: ('read:directory' | 'read:events' | 'write:webhooks')[];
  /** When the key expires. Null if it does not expire. */
  expiresAt: string | null;
  /** When the key was revoked. */
  revokedAt: string | null;
  /** When the operator suspended the key. */
  suspendedAt: string | null;
  /** Why the operator suspended the key. Null if it is not suspended. */
  suspendedReason: string | null;
  /** When the key was last used, up to a minute late. */
  lastUsedAt: string | null;
  /** The number of requests with the key since midnight UTC, up to a minute late. */
  usesToday: number;
  /** When the key was created. */
  createdAt: string;
  /** The value of the key. Only this response has it. */
  key: string;
}

/** The new webhook and its secret. */
export interface CreatedWebhook {
  /** The unique identifier. */
  id: string;
  /** The URL that deliveries are sent to. Of a chat channel, only its origin: the rest authorises whoever has it, and is never shown again. */
  url: string;
  /** What a request looks like. `json`: the signed event. `discord`, `slack` and `teams`: a message for a channel of that platform. It never changes. New values may be added. */
  format?: 'json' | 'discord' | 'slack' | 'teams';
  /** A description of the webhook. */
  description: string | null;
  /** The names of the events to send. Null for all events that the app can receive, including future ones, except those marked opt-in. */
  events: string[] | null;
  /** Filters by the name of an event: only events that match are sent. Events that are not named pass. Null for none. */
  filters?: {
    [k: string]: unknown;
  } | null;
  /** Whether the webhook receives events. */
  active: boolean;
  /** The first that applies. `suspended`: by the operator. `deactivated`: see `deactivatedReason`. `failing`: deliveries failed after all attempts, and none has succeeded since. `retrying`: the last attempt failed, and the delivery is tried again. `new`: no attempt has ended yet. `healthy`: the last attempt succeeded. Tests and probes do not count. New values may be added. */
  health?: 'suspended' | 'deactivated' | 'failing' | 'retrying' | 'new' | 'healthy';
  /** When the webhook was deactivated. */
  deactivatedAt: string | null;
  /** `failing`: too many deliveries in a row failed. `gone`: the receiver responded with 410, or the chat channel or its webhook was deleted. `owner`: the owner deactivated it. New values may be added. */
  deactivatedReason: 'failing' | 'gone' | 'owner' | null;
  /** When the operator suspended the webhook or its app. */
  suspendedAt: string | null;
  /** Why the operator suspended the webhook or its app. Null if it is not suspended. */
  suspendedReason: string | null;
  /** Whether the service probes the webhook after it was deactivated as `failing`, and activates it when it responds again. */
  selfHealing: boolean;
  /** Whether what the webhook missed is replayed when probes activate it. */
  replayAfterHealing: boolean;
  /** When an attempt last succeeded. */
  lastSuccessAt: string | null;
  /** When an attempt last failed. */
  lastFailureAt: string | null;
  /** The number of failed deliveries since the last success. */
  exhaustedInARow: number;
  /** When the next probe of the webhook is due: in the past while the service cannot make it, for example because it cannot read the secret. Null if it does not probe it. */
  nextProbeAt: string | null;
  /** When the previous secret expires. Until then, deliveries are signed with both secrets. */
  previousSecretExpiresAt: string | null;
  /** The names of the headers that you added. Their values are not returned. */
  headerNames?: string[];
  /** When the webhook was created. */
  createdAt: string;
  /** When the settings or the state of the webhook last changed. */
  updatedAt: string;
  /** The secret that signs deliveries. Only this response has it. */
  secret: string;
}

/** An email address and its password. */
export interface Credentials {
  /** The email address of the account. */
  email: string;
  /** The password. */
  password: string;
}

/** A proof by password. */
export interface CurrentPassword {
  /** The password of the account. */
  password: string;
}

/** The position where this page ends. */
export interface CursorPagination {
  /** The maximum number of entries on a page. */
  limit: number;
  /** Send it as `after` to get the next page, now or later. As it was sent if the page is empty, and null if there was no `after` either. */
  nextCursor: string | null;
  /** Whether there are more entries now. */
  hasMore: boolean;
}

/** Confirms that the entry was deleted. */
export interface Deleted {
  /** The id of the deleted entry. */
  id: string;
  /** Always true. */
  deleted: boolean;
}

/** Confirms that the app was deleted. */
export interface DeletedApp {
  /** The id of the deleted app. */
  id: string;
  /** Always true. */
  deleted: boolean;
}

/** Confirms that the webhook was deleted. */
export interface DeletedWebhook {
  /** The id of the deleted webhook. */
  id: string;
  /** Always true. */
  deleted: boolean;
}

/** A delivery of an event to a webhook. */
export interface Delivery {
  /** The id of the delivery, the same for all attempts. Also sent as `X-Service-Delivery`. */
  id: string;
  /** The id of the webhook. */
  webhookId: string;
  /** The name of the event. */
  event: string;
  /** The id of the event, the same for all webhooks. */
  eventId: string;
  /** `failed`: all attempts failed. `cancelled`: the webhook was deactivated, suspended or deleted, or the app lost access to the event. New values may be added. */
  status: 'pending' | 'succeeded' | 'failed' | 'cancelled';
  /** The number of attempts so far. */
  attemptCount: number;
  /** When the next attempt is due. Null if there is none. */
  nextAttemptAt: string | null;
  /** When the delivery was queued. */
  createdAt: string;
  /** When the delivery ended. Null while it is pending. */
  completedAt: string | null;
}

/** A delivery with its body and its attempts. */
export interface DeliveryDetail {
  /** The id of the delivery, the same for all attempts. Also sent as `X-Service-Delivery`. */
  id: string;
  /** The id of the webhook. */
  webhookId: string;
  /** The name of the event. */
  event: string;
  /** The id of the event, the same for all webhooks. */
  eventId: string;
  /** `failed`: all attempts failed. `cancelled`: the webhook was deactivated, suspended or deleted, or the app lost access to the event. New values may be added. */
  status: 'pending' | 'succeeded' | 'failed' | 'cancelled';
  /** The number of attempts so far. */
  attemptCount: number;
  /** When the next attempt is due. Null if there is none. */
  nextAttemptAt: string | null;
  /** When the delivery was queued. */
  createdAt: string;
  /** When the delivery ended. Null while it is pending. */
  completedAt: string | null;
  /** The exact request body, as text: of a chat channel, its message. Null if the app may no longer receive the event. */
  body: string | null;
  /**
   * The last 100 attempts, oldest first.
   *
   * @maxItems 100
   */
  attempts: Attempt[];
}

/** The deliveries that were queued in one period, by how they first ended, without tests. Redelivering one, or replaying an event that had none, changes it in the range `hour` only, which counts how each ended last. */
export interface DeliveryPeriod {
  /** The start of the period. */
  start: string;
  /** The number of deliveries that succeeded. */
  succeeded: number;
  /** The number of deliveries that failed. */
  failed: number;
  /** The number of deliveries that were cancelled. */
  cancelled: number;
  /** Of those that were cancelled: the number cancelled because the webhook failed. */
  cancelledByFailure?: number;
  /** The number of deliveries that have not ended yet. */
  pending: number;
  /** The median duration of the last attempt of those that succeeded, in milliseconds, within 10 %. Null if there were none. */
  latencyP50Ms: number | null;
  /** The 95th percentile of that duration. Null if there were none. */
  latencyP95Ms: number | null;
}

/** Deliveries over time. */
export interface DeliveryStats {
  /** The length of each period. */
  periodHours: number;
  /** The periods, oldest first. */
  periods: DeliveryPeriod[];
  total: DeliveryTotals;
}

/** The deliveries of all periods together. */
export interface DeliveryTotals {
  /** The number of deliveries that succeeded. */
  succeeded: number;
  /** The number of deliveries that failed. */
  failed: number;
  /** The number of deliveries that were cancelled. */
  cancelled: number;
  /** Of those that were cancelled: the number cancelled because the webhook failed. */
  cancelledByFailure?: number;
  /** The number of deliveries that have not ended yet. */
  pending: number;
  /** The median duration of the last attempt of those that succeeded, in milliseconds, within 10 %. Null if there were none. */
  latencyP50Ms: number | null;
  /** The 95th percentile of that duration. Null if there were none. */
  latencyP95Ms: number | null;
}

/** Confirms that the operation succeeded. */
export interface Done {
  /** Always true. */
  done: boolean;
}

/** Confirms that the announcement is no longer shown. */
export interface EndedAnnouncement {
  /** The id of the announcement. */
  id: string;
  /** Always true. */
  deleted: boolean;
}

/** Confirms that the invitation has ended. */
export interface EndedInvitation {
  /** The id of the invitation. */
  id: string;
  /** Always true. */
  deleted: boolean;
}

/** The number of sessions that were ended. */
export interface EndedSessions {
  /** The number of sessions that were ended. */
  ended: number;
}

/** A key that expires soon. */
export interface ExpiringKey {
  /** The id of the app. */
  appId: string;
  /** The name of the app. */
  appName: string;
  /** The id of the key. */
  keyId: string;
  /** The name of the key. */
  name: string;
  /** The last four characters of the key. */
  last4: string;
  /** When the key expires. */
  expiresAt: string;
}

/** An event that the app may have. */
export interface ExplainedEvent {
  /** The id of the event. */
  id: string;
  /** The name of the event. */
  name: string;
  /** When the event happened. */
  createdAt: string;
}

/** Why a webhook did or did not get an event. */
export interface Explanation {
  /** The id of the webhook. */
  webhookId: string;
  /** `unavailable`: The event is not available to this app. `waiting`: The event is being processed, or an error of the service keeps it back. `delivered`: There is a delivery; its status says what happened. `not_sent`: The event was not sent to the webhook. `would_send`: An event at that time is sent to the webhook. `unknown`: There is no record of the settings at that time. New values may be added. */
  result: 'unavailable' | 'waiting' | 'delivered' | 'not_sent' | 'would_send' | 'unknown';
  /** What happened and what you can change, for people to read. */
  message: string;
  /** The time at which settings were checked: when the event was processed, or `at`. */
  at: string | null;
  event: ExplainedEvent | null;
  checks: ExplanationChecks;
  /**
   * The checks that are null because the service has no record of the settings at that time. Those that are null and not in this list do not apply to the event, or are not decided yet.
   *
   * @maxItems 5
   */
  unknown: ('bound' | 'listed' | 'existed' | 'active' | 'subscribed')[];
  delivery: Delivery | null;
  /**
   * The first events of the organisation or alliance within a minute of `at` that the app may have. Empty for a single event.
   *
   * @maxItems 20
   */
  nearby: ExplainedEvent[];
}

/** The conditions at that time. Null if one is unknown or does not apply: see `unknown`. */
export interface ExplanationChecks {
  /** Whether the app was bound to the organisation or alliance. */
  bound: boolean | null;
  /** Whether the organisation was listed. */
  listed: boolean | null;
  /** Whether the webhook existed. */
  existed: boolean | null;
  /** Whether the webhook was active. */
  active: boolean | null;
  /** Whether the webhook was subscribed to the event. */
  subscribed: boolean | null;
  /** Whether the webhook's filter of the event let it pass. Null without one, and at a time, because a filter decides by the data of an event. */
  passed?: boolean | null;
}

/** A code. */
export interface FactorCode {
  /** The code. Spaces and dashes do not matter. */
  code: string;
}

/** What filters would have let pass. */
export interface FilterPreview {
  /** The events, at most 100. */
  events: number;
  /** How many of them pass. */
  passing: number;
}

/** The events and filters of a webhook. */
export interface FilterPreviewRequest {
  /**
   * The names of the events to send. Defaults to all events that the app can receive, including future ones, except those marked opt-in. Events today: `org.created`, `alliance.created`, `blueprint.sync.completed`, `chat.sync.completed`, `system.maintenance.enabled`, `system.maintenance.disabled`, `application.created`, `event.created`, `resource.request.created`, `resource.offer.created`; opt-in: `org.updated`, `org.removed`, `alliance.updated`, `alliance.removed`, `blueprint.updated`, `blueprint.removed`. More may be added.
   *
   * @minItems 1
   * @maxItems 50
   */
  events?: string[] | null;
  /** Filters by the name of an event: only events that match are sent. Events that are not named pass. Each has at most 50 fields, operators and values in lists, and at most 4 objects in each other. */
  filters?: {
    [k: string]: unknown;
  } | null;
}

/** The new account. */
export interface FirstAccount {
  /** The id of the new user. */
  userId: string;
}

/** The deliveries that were queued in an hour. */
export interface HourOfWebhook {
  /** The number of deliveries that succeeded. */
  succeeded: number;
  /** The number that failed, or were cancelled because the webhook failed. */
  failed: number;
}

/** The invitation of a mailed link. */
export interface InvitationLink {
  /** The id of the invitation. */
  id: string;
  /** The invited address. */
  email: string;
  /** The role that the invited person gets. */
  role: 'viewer' | 'developer' | 'owner';
  /** The address of the owner who made the invitation. */
  invitedBy: string;
  /** When the invitation was created. */
  createdAt: string;
  /** When the invitation expires. */
  expiresAt: string;
  /** The name of the app. */
  appName: string;
}

/** The last attempt. Null if there was none. */
export interface LastAttempt {
  /** When the attempt started. */
  startedAt: string;
  /** The duration of the attempt in milliseconds. */
  durationMs: number;
  /** The HTTP status of the response. Null if there was none. */
  statusCode: number | null;
  /** Why there was no response. `blocked`: the address is not allowed. `interrupted`: the service stopped during the attempt. New values may be added. */
  error: 'dns' | 'connect' | 'tls' | 'timeout' | 'blocked' | 'reset' | 'interrupted' | null;
  /** What is known of an error `connect` or `tls`. `certificate_incomplete`: the intermediate certificates are missing, or nobody trusts the issuer. Null if nothing is known. New values may be added. */
  errorCause:
    | 'refused'
    | 'unreachable'
    | 'not_tls'
    | 'tls_version'
    | 'certificate_expired'
    | 'certificate_not_yet_valid'
    | 'certificate_wrong_host'
    | 'certificate_incomplete'
    | 'certificate_untrusted'
    | 'client_certificate_required'
    | null;
}

/** The outcome of the last attempt that failed. */
export interface LastError {
  /** When the attempt started. */
  at: string;
  /** The HTTP status of the response. Null if there was none. */
  statusCode: number | null;
  /** Why there was no response. `blocked`: the address is not allowed. `interrupted`: the service stopped during the attempt. New values may be added. */
  error: 'dns' | 'connect' | 'tls' | 'timeout' | 'blocked' | 'reset' | 'interrupted' | null;
  /** What is known of an error `connect` or `tls`. `certificate_incomplete`: the intermediate certificates are missing, or nobody trusts the issuer. Null if nothing is known. New values may be added. */
  errorCause:
    | 'refused'
    | 'unreachable'
    | 'not_tls'
    | 'tls_version'
    | 'certificate_expired'
    | 'certificate_not_yet_valid'
    | 'certificate_wrong_host'
    | 'certificate_incomplete'
    | 'certificate_untrusted'
    | 'client_certificate_required'
    | null;
}

/** Confirms that you are no longer a member. */
export interface LeftApp {
  /** The id of the app. */
  id: string;
  /** Always true. */
  deleted: boolean;
}

/** Links to other sites. */
export interface Links {
  /** The URL of the web site. */
  website: string | null;
  /** The URL of the chat. */
  chat: string | null;
  /** The URL of the video channel. */
  video: string | null;
  /** The URL of the page on a social network. */
  social: string | null;
}

/** An announcement that is shown. */
export interface MadeAnnouncement {
  /** The id of the announcement. */
  id: string;
  /** How many owners get a mail. */
  mails: number;
}

/** The new state of maintenance. Omitted fields become null. */
export interface MaintenanceChange {
  /** Whether maintenance is on. */
  enabled: boolean;
  /** The message to callers. */
  message?: string | null;
  /** When the maintenance is expected to end. */
  expectedEnd?: string | null;
}

/** The state of maintenance. */
export interface MaintenanceState {
  /** Whether maintenance is on. */
  enabled: boolean;
  /** The message to callers. */
  message: string | null;
  /** When the maintenance began. Null if it is off. */
  since: string | null;
  /** When the maintenance is expected to end. */
  expectedEnd: string | null;
}

/** An alliance with its private fields. */
export interface ManagedAlliance {
  /** The unique identifier. It never changes. */
  id: string;
  /** The unique name in URLs. Changes when the alliance is renamed. */
  slug: string;
  /** The name. */
  name: string;
  /** A short form of the name. Not unique. */
  tag: string | null;
  /** Other names: former ones, acronyms, other scripts. */
  aliases: string[];
  /** A description in plain text. */
  description: string | null;
  /** The URL of the logo. */
  logoUrl: string | null;
  /** The URL of the banner, a wide image. */
  bannerUrl: string | null;
  links: Links;
  /** Whether the alliance accepts new organisations. */
  recruiting: boolean;
  /** The number of listed member organisations. */
  orgCount: number;
  /** The total number of members of those organisations. */
  memberCount: number;
  /** `disbanded` alliances stay in the directory. New values may be added. */
  status: 'active' | 'disbanded';
  /** When the alliance was founded. */
  foundedAt: string | null;
  /** The API URL of this object. */
  url: string;
  /** When the object was created. */
  createdAt: string;
  /** When a field of this object last changed. */
  updatedAt: string;
  /** The email addresses of the managers, sorted. */
  managers: string[];
}

/** An alliance with its private fields and all member organisations. */
export interface ManagedAllianceDetail {
  /** The unique identifier. It never changes. */
  id: string;
  /** The unique name in URLs. Changes when the alliance is renamed. */
  slug: string;
  /** The name. */
  name: string;
  /** A short form of the name. Not unique. */
  tag: string | null;
  /** Other names: former ones, acronyms, other scripts. */
  aliases: string[];
  /** A description in plain text. */
  description: string | null;
  /** The URL of the logo. */
  logoUrl: string | null;
  /** The URL of the banner, a wide image. */
  bannerUrl: string | null;
  links: Links;
  /** Whether the alliance accepts new organisations. */
  recruiting: boolean;
  /** The number of listed member organisations. */
  orgCount: number;
  /** The total number of members of those organisations. */
  memberCount: number;
  /** `disbanded` alliances stay in the directory. New values may be added. */
  status: 'active' | 'disbanded';
  /** When the alliance was founded. */
  foundedAt: string | null;
  /** The API URL of this object. */
  url: string;
  /** When the object was created. */
  createdAt: string;
  /** When a field of this object last changed. */
  updatedAt: string;
  /** All member organisations, sorted by name. */
  orgs: Member[];
  /** The email addresses of the managers, sorted. */
  managers: string[];
}

/** A member organisation of an alliance, listed or not. */
export interface Member {
  /** The unique identifier. */
  id: string;
  /** The unique name in URLs. */
  slug: string;
  /** The name of the organisation. */
  name: string;
  /** A short form of the name. */
  tag: string | null;
  /** The number of members. */
  memberCount: number;
  /** Whether the organisation is public. An unlisted organisation appears in no public list, count or event. */
  listed: boolean;
}

/** An organisation with its private fields. */
export interface ManagedOrganisation {
  /** The unique identifier. It never changes. */
  id: string;
  /** The unique name in URLs. Changes when the organisation is renamed. */
  slug: string;
  /** The name. */
  name: string;
  /** A short form of the name. Not unique. */
  tag: string | null;
  /** Other names: former ones, acronyms, other scripts. */
  aliases: string[];
  /** A description in plain text. */
  description: string | null;
  /** The main activity. */
  primaryActivity: string | null;
  /** Another activity. */
  secondaryActivity: string | null;
  /** The level of commitment expected of members. */
  commitment: string | null;
  /** Whether the organisation accepts new members. */
  recruiting: boolean;
  /** A BCP 47 language tag. */
  language: string | null;
  /** An IANA time zone. */
  timezone: string | null;
  /** The location, as free text. */
  location: string | null;
  /** The number of members. */
  memberCount: number;
  /** The URL of the logo. */
  logoUrl: string | null;
  /** The URL of the banner, a wide image. */
  bannerUrl: string | null;
  links: Links;
  alliance: AllianceReference | null;
  /** Whether the directory has verified the organisation. */
  verified: boolean;
  /** `closed` organisations stay in the directory. New values may be added. */
  status: 'active' | 'closed';
  /** When the organisation was founded. */
  foundedAt: string | null;
  /** The API URL of this object. */
  url: string;
  /** When the object was created. */
  createdAt: string;
  /** When a field of this object last changed, `alliance` only if it is another one. */
  updatedAt: string;
  /** Whether the organisation is public. An unlisted organisation appears in no public list, count or event. */
  listed: boolean;
  /** A contact email address. Private. */
  contactEmail: string | null;
  /** The id of its chat server, for the chat sync. Private. */
  chatServerId: string | null;
  /** Notes for the operators of the directory. Private. */
  notes: string | null;
  /** The email addresses of the managers, sorted. */
  managers: string[];
}

/** The fields to change. */
export interface MembershipChanges {
  /** Whether you want mail about failing webhooks. */
  failureMails: boolean;
}

/** An announcement to all developers. */
export interface NewAnnouncement {
  /** How serious it is. */
  severity?: 'info' | 'warning' | 'critical';
  /** What is announced, on one line. */
  text: string;
  /** When it takes place. Null: now. */
  startsAt?: string | null;
  /** Until when it is shown. Null: until the operator ends it. */
  endsAt?: string | null;
  /** Whether owners of apps who want it get a mail. */
  mail?: boolean;
}

/** A new app. */
export interface NewApp {
  /** The name of the app, without control characters. */
  name: string;
}

/** The secret for an authenticator app. */
export interface NewAuthenticator {
  /** The secret, in base32. Only this response has it. */
  secret: string;
  /** The same as an `otpauth` address, for a QR code. */
  uri: string;
}

/** The organisation or alliance to bind the app to. */
export interface NewBinding {
  /** The kind of the object. */
  kind: 'organization' | 'alliance';
  /** The unique name in URLs. */
  slug: string;
}

/** The first account of this installation. */
export interface NewFirstAccount {
  /** The part of the link on the terminal after `#`. */
  token: string;
  /** The email address of the account. */
  email: string;
  /** Your name, without control characters. */
  name: string;
  /** The new password. */
  password: string;
}

/** A new invitation. */
export interface NewInvitation {
  /** The address to invite. */
  email: string;
  /** The role that the invited person gets. */
  role: 'viewer' | 'developer' | 'owner';
}

/** A new key. */
export interface NewKey {
  /** The name of the key, without control characters. */
  name: string;
  /**
   * The permissions of the key.
   *
   * @minItems 1
   */
  scopes: ('read:directory' | 'read:events' | 'write:webhooks')[];
  /** When the key expires. Null: never. */
  expiresAt?: string | null;
}

/** A new passkey. */
export interface NewPasskey {
  /** The name of the passkey, without control characters. */
  name: string;
  /** The response of `navigator.credentials.create`. */
  credential: {
    /** The id of the passkey. In base64url. */
    id: string;
    /** What the browser signed. In base64url. */
    clientDataJSON: string;
    /** The new public key. In base64url. */
    attestationObject: string;
  };
}

/** A suspension. */
export interface NewSuspension {
  /** Why, as its owners read it. */
  reason: string;
}

/** The OpenAPI document, without the envelope. */
export interface OpenApiDocument {
  /** The version of OpenAPI. */
  openapi: string;
  [k: string]: unknown;
}

/** An account of anybody. */
export interface OperatorAccount {
  /** The id of the account. */
  id: string;
  /** The address, or the name that a provider gives. */
  email: string;
  /** The name. */
  name: string;
  /** How many sessions are open. */
  sessionCount: number;
  /** Whether it has a second factor. */
  hasSecondFactor: boolean;
  /** When the operator suspended the account. */
  suspendedAt: string | null;
  /** Why the operator suspended the account. Null if it is not suspended. */
  suspendedReason: string | null;
  /** When the account was created. */
  createdAt: string;
}

/** An app of anybody. */
export interface OperatorApp {
  /** The id of the app. */
  id: string;
  /** The name of the app. */
  name: string;
  /** The addresses of the owners. */
  owners: string[];
  /** The number of valid keys, without temporary ones. */
  keyCount: number;
  /** The number of webhooks, active or not. */
  webhookCount: number;
  /** When the operator suspended the app. */
  suspendedAt: string | null;
  /** Why the operator suspended the app. Null if it is not suspended. */
  suspendedReason: string | null;
  /** When the app was created. */
  createdAt: string;
}

/** Who made the change. */
export interface OperatorAuditActor {
  /** `key`: over the API. `user`: in the portal. `operator`: in the console. `cli`: an operator on the command line. `system`: the service itself. */
  kind: 'key' | 'user' | 'operator' | 'cli' | 'system';
  /** The id of the key or account. */
  id: string | null;
  /** Its name or address, the user of the machine, or the part of the service. */
  name: string;
}

/** A change by anybody. */
export interface OperatorAuditEntry {
  /** An increasing number. */
  id: number;
  /** When the change was made. */
  at: string;
  actor: OperatorAuditActor;
  /** The action. */
  action: string;
  subject: OperatorAuditSubject;
  /** The id of the app that it concerns. */
  appId: string | null;
  /** Details of the change. */
  details: {
    [k: string]: unknown;
  };
}

/** What was changed. */
export interface OperatorAuditSubject {
  /** The kind of object. */
  kind: string;
  /** The id of the object. */
  id: string | null;
}

/** A check of `orgdir doctor`. */
export interface OperatorCheck {
  /** What was checked. */
  check: string;
  /** How it is. New values may be added. */
  status: 'ok' | 'warning' | 'failed' | 'skipped';
  /** What was found. */
  message: string;
  /** How to mend it. Null: nothing to do. */
  advice: string | null;
}

/** How deliveries went. */
export interface OperatorDeliveries {
  /** The share that succeeded in the last 24 hours. Null if none ended. */
  successShare: number | null;
  /** The median time from queuing to the response, in ms. */
  delayP50Ms: number | null;
  /** The 95th percentile of it. */
  delayP95Ms: number | null;
}

/** A delivery of anybody, without what was sent. */
export interface OperatorDelivery {
  /** The id of the delivery, the same for all attempts. Also sent as `X-Service-Delivery`. */
  id: string;
  /** The id of the webhook. */
  webhookId: string;
  /** The name of the event. */
  event: string;
  /** The id of the event, the same for all webhooks. */
  eventId: string;
  /** `failed`: all attempts failed. `cancelled`: the webhook was deactivated, suspended or deleted, or the app lost access to the event. New values may be added. */
  status: 'pending' | 'succeeded' | 'failed' | 'cancelled';
  /** The number of attempts so far. */
  attemptCount: number;
  /** When the next attempt is due. Null if there is none. */
  nextAttemptAt: string | null;
  /** When the delivery was queued. */
  createdAt: string;
  /** When the delivery ended. Null while it is pending. */
  completedAt: string | null;
  /** The id of the app. Null: the webhook was deleted. */
  appId: string | null;
  /** The name of the app. */
  appName: string | null;
  /** The host and port of the URL. */
  host: string | null;
  lastAttempt: LastAttempt | null;
}

/** A key of anybody. */
export interface OperatorKey {
  /** The id of the key. */
  id: string;
  /** The id of its app. Null: a platform key. */
  appId: string | null;
  /** The name of its app. */
  appName: string | null;
  /** The name of the key. */
  name: string;
  /** Its last four characters. */
  last4: string;
  /** What it may do. `platform`: the whole internal API. */
  scopes: ('read:directory' | 'read:events' | 'write:webhooks' | 'platform')[];
  /** When it expires. Null: never. */
  expiresAt: string | null;
  /** When it was revoked. */
  revokedAt: string | null;
  /** When the operator suspended the key. */
  suspendedAt: string | null;
  /** Why the operator suspended the key. Null if it is not suspended. */
  suspendedReason: string | null;
  /** Whether its app is suspended, which refuses the key too. */
  appSuspended: boolean;
  /** When it was last used. */
  lastUsedAt: string | null;
  /** Requests since midnight UTC. */
  usesToday: number;
  /** When it was created. */
  createdAt: string;
}

/** The state of the installation. */
export interface OperatorOverview {
  today: UsedOnDay;
  yesterday: UsedOnDay;
  responses: OperatorResponses;
  deliveries: OperatorDeliveries;
  queue: OperatorQueue;
  /** How many webhooks have each `health`. */
  webhooks: {
    /** The number of webhooks. */
    [k: string]: number;
  };
  /** Hosts with the most webhooks that are deactivated, failing or retrying. */
  receivers: TroubledReceiver[];
}

/** Requests of one day (UTC). */
export interface UsedOnDay {
  /** Requests with a key. */
  requests: number;
  /** Those that failed. */
  errors: number;
}

/** How quickly the process that answers has answered since its start. */
export interface OperatorResponses {
  /** Requests of all kinds that this process has answered. */
  count: number;
  /** At most this many ms to the median response. Null: longer than is counted, or none. */
  p50Ms: number | null;
  /** The same for the 99th percentile. */
  p99Ms: number | null;
}

/** What waits. */
export interface OperatorQueue {
  /** Deliveries that are due; counting stops at 10,000. */
  due: number;
  /** How long the oldest one waits that waits for no receiver, in seconds. */
  oldestDueSeconds: number;
  /** Events that are not distributed yet; counting stops at 10,000. */
  eventsWaiting: number;
  /** How long the oldest one waits. */
  oldestEventSeconds: number;
  /** Rows that were set aside, and events that were rejected. */
  setAside: number;
}

/** A host whose webhooks do not work. */
export interface TroubledReceiver {
  /** The host and port of the URLs. */
  host: string;
  /** How many webhooks of the host do not work. */
  webhooks: number;
  /** Of how many apps. */
  apps: number;
}

/** A quota of an app. */
export interface OperatorQuota {
  /** What is limited. `rate`: requests per minute. */
  quota: 'rate' | 'webhooks' | 'keys' | 'members';
  /** The limit in force. Null: the usual rates. */
  limit: number | null;
  /** Whether it is the default. */
  isDefault: boolean;
  /** How many the app has. Null for `rate`. */
  used: number | null;
}

/** A setting in force. */
export interface OperatorSetting {
  /** The name of the environment variable. */
  name: string;
  /** The value in this process. Null: not set. Of a secret only that it is set, and of an address that may have a password only the host, or that it is set. */
  value: string | null;
  /** Whether it is the default. */
  isDefault: boolean;
}

/** A webhook of anybody. */
export interface OperatorWebhook {
  /** The id of the webhook. */
  id: string;
  /** The id of the app. */
  appId: string;
  /** The name of the app. */
  appName: string;
  /** The host and port of the URL. */
  host: string;
  /** What is sent. The URL of a chat channel is shown to nobody. */
  format: 'json' | 'discord' | 'slack' | 'teams';
  /** As `health` of a webhook. */
  health: 'suspended' | 'deactivated' | 'failing' | 'retrying' | 'new' | 'healthy';
  /** What is suspended: the webhook itself, or else its app, which is what to restore then. */
  suspended: 'webhook' | 'app' | null;
  /** Why it was deactivated, or what the operator wrote about a suspension. */
  reason: string | null;
  /** When it was deactivated or suspended. */
  since: string | null;
  /** Consecutive deliveries that failed after all attempts. */
  exhaustedInARow: number;
}

/** The fields to change. Omitted fields stay the same. */
export interface OrganisationChanges {
  /** The new slug. The old one stays reserved for 30 days. */
  slug?: string;
  /** The name. */
  name?: string;
  /** A short form of the name. Not unique. */
  tag?: string | null;
  /** A description in plain text. */
  description?: string | null;
  /** The URL of the logo. */
  logoUrl?: string | null;
  /** The URL of the banner, a wide image. */
  bannerUrl?: string | null;
  /** Links to other sites. Omitted links stay the same. */
  links?: {
    website?: string | null;
    chat?: string | null;
    video?: string | null;
    social?: string | null;
  };
  /** Whether the organisation accepts new members. */
  recruiting?: boolean;
  /** When the organisation was founded. */
  foundedAt?: string | null;
  /**
   * All other names. If omitted, they stay the same.
   *
   * @maxItems 10
   */
  aliases?: string[];
  /** The main activity. */
  primaryActivity?: string | null;
  /** Another activity. */
  secondaryActivity?: string | null;
  /** The level of commitment expected of members. */
  commitment?: string | null;
  /** A BCP 47 language tag. */
  language?: string | null;
  /** An IANA time zone. */
  timezone?: string | null;
  /** The location, as free text. */
  location?: string | null;
  /** The number of members. */
  memberCount?: number;
  /** The slug of its alliance, or null. */
  alliance?: string | null;
  /** Whether the directory has verified the organisation. */
  verified?: boolean;
  /** `closed` organisations stay in the directory. */
  status?: 'active' | 'closed';
  /** Whether the organisation is public. An unlisted organisation appears in no public list, count or event. */
  listed?: boolean;
  /** A contact email address. Private. */
  contactEmail?: string | null;
  /** The id of its chat server, for the chat sync. Private. */
  chatServerId?: string | null;
  /** Notes for the operators of the directory. Private. */
  notes?: string | null;
  /**
   * The email addresses of all managers. If omitted, the managers stay the same.
   *
   * @maxItems 2000
   */
  managers?: string[];
}

/** A complete organisation. Omitted fields get their defaults. */
export interface OrganisationInput {
  /** Must be the slug in the URL. Use `PATCH` to rename. */
  slug?: string;
  /** The name. */
  name: string;
  /** A short form of the name. Not unique. */
  tag?: string | null;
  /** A description in plain text. */
  description?: string | null;
  /** The URL of the logo. */
  logoUrl?: string | null;
  /** The URL of the banner, a wide image. */
  bannerUrl?: string | null;
  /** Links to other sites. */
  links?: {
    website?: string | null;
    chat?: string | null;
    video?: string | null;
    social?: string | null;
  };
  /** Whether the organisation accepts new members. */
  recruiting?: boolean;
  /** When the organisation was founded. */
  foundedAt?: string | null;
  /**
   * All other names. If omitted, they stay the same.
   *
   * @maxItems 10
   */
  aliases?: string[];
  /** The main activity. */
  primaryActivity?: string | null;
  /** Another activity. */
  secondaryActivity?: string | null;
  /** The level of commitment expected of members. */
  commitment?: string | null;
  /** A BCP 47 language tag. */
  language?: string | null;
  /** An IANA time zone. */
  timezone?: string | null;
  /** The location, as free text. */
  location?: string | null;
  /** The number of members. */
  memberCount?: number;
  /** The slug of its alliance, or null. */
  alliance?: string | null;
  /** Whether the directory has verified the organisation. */
  verified?: boolean;
  /** `closed` organisations stay in the directory. */
  status?: 'active' | 'closed';
  /** Whether the organisation is public. An unlisted organisation appears in no public list, count or event. */
  listed?: boolean;
  /** A contact email address. Private. */
  contactEmail?: string | null;
  /** The id of its chat server, for the chat sync. Private. */
  chatServerId?: string | null;
  /** Notes for the operators of the directory. Private. */
  notes?: string | null;
  /**
   * The email addresses of all managers. If omitted, the managers stay the same.
   *
   * @maxItems 2000
   */
  managers?: string[];
}

/** An overview of your apps. */
export interface Overview {
  maintenance: PortalMaintenance | null;
  /** Webhooks that are suspended, deactivated, failing or retrying, in this order, and then those that their owner deactivated. */
  webhooks: TroubledWebhook[];
  /** Keys that expire within 14 days, soonest first. */
  keys: ExpiringKey[];
}

/** The current maintenance. Apps, keys and webhooks cannot be changed meanwhile. */
export interface PortalMaintenance {
  /** A message from the operator. */
  message: string | null;
  /** When the maintenance began. */
  since: string;
  /** When the maintenance is expected to end. */
  expectedEnd: string | null;
}

/** A webhook that needs attention. */
export interface TroubledWebhook {
  /** The id of the app. */
  appId: string;
  /** The name of the app. */
  appName: string;
  /** The id of the webhook. */
  webhookId: string;
  /** The host of the webhook's URL. */
  host: string;
  /** The URL of the webhook. A viewer sees only its origin. */
  url?: string;
  /** What a request looks like. `json`: the signed event. `discord`, `slack` and `teams`: a message for a channel of that platform. It never changes. New values may be added. */
  format?: 'json' | 'discord' | 'slack' | 'teams';
  /** The description of the webhook. */
  description: string | null;
  /** As `health` of a webhook. */
  health?: 'suspended' | 'deactivated' | 'failing' | 'retrying';
  /** As `health`, but `failing` for `retrying`. */
  state: 'failing' | 'deactivated' | 'suspended';
  /** Why the webhook was deactivated. */
  reason: 'failing' | 'gone' | 'owner' | null;
  /** When the webhook was deactivated or suspended. */
  since: string | null;
  /** Why the operator suspended the webhook or its app. Null if it is not suspended. */
  suspendedReason: string | null;
  /** When deliveries began to fail. Null if they did not fail: the owner deactivated it. */
  failingSince: string | null;
  /** When an attempt last succeeded. */
  lastSuccessAt?: string | null;
  lastError: LastError | null;
  /** The number of deliveries queued since `unsentSince` that failed or were cancelled, without tests. The list has as many with `status=undelivered` and this `since`. */
  unsent: number;
  /** The start of the hour in which the first of the deliveries was queued that have failed or were cancelled since the webhook last worked. Null if there are none. */
  unsentSince?: string | null;
  /** The number of failed deliveries since the last success. */
  exhaustedInARow: number;
}

/** The position of this page in the list. */
export interface Pagination {
  /** The page number, starting at 1. */
  page: number;
  /** The maximum number of entries on a page. */
  limit: number;
  /** The number of entries on all pages. */
  total: number;
  /** The number of pages. */
  totalPages: number;
}

/** A proof by passkey. */
export interface PasskeyAssertion {
  /** The response of `navigator.credentials.get`. */
  credential: {
    /** The id of the passkey. In base64url. */
    id: string;
    /** What the browser signed. In base64url. */
    clientDataJSON: string;
    /** What the device signed. In base64url. */
    authenticatorData: string;
    /** The signature of the device. In base64url. */
    signature: string;
  };
}

/** The fields to change. */
export interface PasskeyChanges {
  /** The name of the passkey, without control characters. */
  name: string;
}

/** The options of `navigator.credentials`, in the JSON form of WebAuthn. */
export interface PasskeyOptions {
  /** A random value to sign. It can be used once, within five minutes. */
  challenge: string;
  [k: string]: unknown;
}

/** The current password and a new one. */
export interface PasswordChange {
  /** The current password. */
  currentPassword: string;
  /** The new password. */
  newPassword: string;
}

/** A valid link. */
export interface PasswordLink {
  /** The email address that the link was sent to. */
  email: string;
  /** Whether there is an account with this address. */
  hasAccount: boolean;
}

/** The email address to send a link to. */
export interface PasswordLinkRequest {
  /** The email address of the account. */
  email: string;
}

/** The token of a link. */
export interface PasswordLinkToken {
  /** The part of the link after `#`. */
  token: string;
}

/** The account whose password was set. */
export interface PasswordSet {
  /** The email address of the account. */
  email: string;
  /** Whether the account is new. */
  created: boolean;
  /** The other sign-in methods of the account. Remove those that you do not recognise. */
  methods: AccountMethod[];
  /** Whether the account has passkeys, which sign in too. Remove those that you do not recognise. */
  hasPasskeys: boolean;
}

/** A change to an app, or to its members, keys or webhooks. */
export interface PortalAuditEntry {
  /** An increasing number. */
  id: number;
  /** When the change was made. */
  at: string;
  /** Who made the change. */
  actor: {
    /** `key`: over the API. `user`: in the portal. `operator`: in the console. `cli`: an operator on the command line. `system`: the service itself. */
    kind: 'key' | 'user' | 'operator' | 'cli' | 'system';
    /** The name of the key of this app, or the address of the member. Null for others. */
    name: string | null;
    /** Whether you made the change. */
    isYou: boolean;
  };
  /** The action. */
  action: string;
  /** The id of the app. */
  appId: string;
  /** The name of the app, or its last name if it was deleted. */
  appName: string;
  /** Whether the app has been deleted since. */
  appDeleted: boolean;
  /** The object that was changed. */
  subject: {
    /** The kind of object. */
    kind: string;
    /** The id of the object. */
    id: string | null;
    /** The name of the app or key, the host of the webhook, or the address of the member or invited person, at that time. Null for other objects. */
    name: string | null;
  };
  /** Details of the change. */
  details: {
    [k: string]: unknown;
  };
}

/** A delivery with its last attempt and its subject. */
export interface PortalDelivery {
  /** The id of the delivery, the same for all attempts. Also sent as `X-Service-Delivery`. */
  id: string;
  /** The id of the webhook. */
  webhookId: string;
  /** The name of the event. */
  event: string;
  /** The id of the event, the same for all webhooks. */
  eventId: string;
  /** `failed`: all attempts failed. `cancelled`: the webhook was deactivated, suspended or deleted, or the app lost access to the event. New values may be added. */
  status: 'pending' | 'succeeded' | 'failed' | 'cancelled';
  /** The number of attempts so far. */
  attemptCount: number;
  /** When the next attempt is due. Null if there is none. */
  nextAttemptAt: string | null;
  /** When the delivery was queued. */
  createdAt: string;
  /** When the delivery ended. Null while it is pending. */
  completedAt: string | null;
  webhook: WebhookOfDelivery;
  subject: DeliverySubject | null;
  lastAttempt: LastAttempt | null;
}

/** The webhook that the delivery is sent to. */
export interface WebhookOfDelivery {
  /** The URL of the webhook. A viewer sees only its origin. */
  url: string;
  /** The description of the webhook. */
  description: string | null;
}

/** An event of the catalogue. */
export interface PortalEvent {
  /** The name of the event. */
  event: string;
  /** When the event occurs. */
  description: string;
  /** Whether only webhooks that name the event get it. */
  optIn: boolean;
  /** The JSON Schema of its `data`. */
  schema: {
    [k: string]: unknown;
  };
  /** An example of its `data`. */
  sample: {
    [k: string]: unknown;
  };
  /** What a chat channel shows of the example. */
  message: {
    /** What happened. */
    title: string;
    /** More about it. */
    text: string | null;
    /**
     * Details.
     *
     * @maxItems 25
     */
    fields: {
      /** The name of the field. */
      name: string;
      /** The value of the field. */
      value: string;
    }[];
    /** A page about the subject. */
    url: string | null;
    /** The kind of news, shown as a colour. */
    color: 'good' | 'info' | 'warning' | 'bad';
    /** When it happened. */
    time: string;
  };
  /** Who can receive the event: every app, or apps bound to the organisation or alliance. */
  audience: 'global' | 'organization' | 'alliance';
  /** Whether this app can receive the event. */
  allowed: boolean;
  /** Why the app cannot receive the event. */
  reason: string | null;
}

/** A key of an app, without its value. */
export interface PortalKey {
  /** The id of the key. */
  id: string;
  /** The name of the key. */
  name: string;
  /** The last four characters of the key. */
  last4: string;
  /** The scopes of the key. */
  scopes: ('read:directory' | 'read:events' | 'write:webhooks')[];
  /** When the key expires. Null if it does not expire. */
  expiresAt: string | null;
  /** When the key was revoked. */
  revokedAt: string | null;
  /** When the operator suspended the key. */
  suspendedAt: string | null;
  /** Why the operator suspended the key. Null if it is not suspended. */
  suspendedReason: string | null;
  /** When the key was last used, up to a minute late. */
  lastUsedAt: string | null;
  /** The number of requests with the key since midnight UTC, up to a minute late. */
  usesToday: number;
  /** When the key was created. */
  createdAt: string;
}

/** The session of the user who is signed in. */
export interface PortalSession {
  /** The id of the session. */
  id: string;
  user: PortalUser;
  /** The second factor that the session needs before it opens anything else: one to confirm, or one to set up. Null: none. */
  missingFactor: 'confirm' | 'set_up' | null;
  /** What you may do in the console. Null: for you there is none. */
  operatorRole?: 'operator' | 'read-only' | null;
  /** When the operator suspended the account. */
  suspendedAt: string | null;
  /** Why the operator suspended the account. Null if it is not suspended. */
  suspendedReason: string | null;
  /** When the session expires if it is not used. */
  expiresAt: string;
}

/** The user who is signed in. */
export interface PortalUser {
  /** The id of the user. */
  id: string;
  /** The name of the user. */
  name: string;
  /** The email address of the user. Ends in `.invalid` if the provider has not verified an address. */
  email: string;
  /** The URL of a picture. */
  image: string | null;
}

/** The ways to prove who you are. */
export interface ProofMethods {
  /** What you can confirm with. */
  methods: ('passkey' | 'authenticator' | 'password' | 'mail')[];
}

/** The address to sign in with the provider. */
export interface ProviderRedirect {
  /** The address to send the browser to. */
  url: string;
}

/** A provider and the pages to return to. */
export interface ProviderRequest {
  /** The provider's id, from the sign-in options. */
  provider: string;
  /** The page of the portal to return to. */
  callbackURL: string;
  /** The page to return to on failure, with `?error=`. */
  errorCallbackURL: string;
}

/** The quotas to change. Omitted ones stay. */
export interface QuotaChanges {
  /** The new limit. Null: the default. */
  rate?: number | null;
  /** The new limit. Null: the default. */
  webhooks?: number | null;
  /** The new limit. Null: the default. */
  keys?: number | null;
  /** The new limit. Null: the default. */
  members?: number | null;
}

/** Why somebody has to see it. */
export interface ReasonToSee {
  /** Why. The audit log keeps it. */
  reason: string;
}

/** The time to recover deliveries from. */
export interface RecoverRequest {
  /** Recover deliveries that ended at this time or later, at most 14 days ago. */
  since: string;
}

/** The deliveries that a recovery would send. */
export interface Recoverable {
  /** The number of deliveries that a recovery would queue, at most 10,000. */
  count: number;
}

/** The result of a recovery. */
export interface Recovered {
  /** The number of deliveries that are pending again. */
  count: number;
}

/** New recovery codes. */
export interface RecoveryCodes {
  /** The codes. Only this response has them; each works once. */
  recoveryCodes: string[];
}

/** The deliveries to send again. */
export interface RedeliveriesRequest {
  /**
   * The ids of the deliveries.
   *
   * @minItems 1
   * @maxItems 100
   */
  deliveryIds: string[];
}

/** The result for one delivery. */
export interface Redelivery {
  /** The id of the delivery. */
  deliveryId: string;
  /** Whether the delivery is pending again. */
  redelivered: boolean;
  /** Why the delivery cannot be sent again. */
  reason: string | null;
}

/** Which rows. */
export interface RefusedChange {
  /**
   * The ids of the rows.
   *
   * @minItems 1
   * @maxItems 100
   */
  ids: string[];
}

/** An event that was rejected, or a row that was set aside. */
export interface RefusedRow {
  /** The id of the row. */
  id: string;
  /** What the worker was doing. */
  stage: string;
  /** The name of the event, if the row is of one. */
  event: string | null;
  /** The slug of its organisation. */
  org: string | null;
  /** The slug of its alliance. */
  alliance: string | null;
  /** When the row was written. */
  createdAt: string | null;
  /** When it was refused. */
  rejectedAt: string;
  /** PostgreSQL's code of the error, if it refused the row. */
  code: string | null;
  /** Why. */
  reason: string;
  /** The id of the event. */
  eventId: string | null;
  /** The id of the delivery. */
  deliveryId: string | null;
  /** The id of the webhook. */
  webhookId: string | null;
}

/** Confirms that the member was removed. */
export interface RemovedAppMember {
  /** The id of the removed member. */
  id: string;
  /** Always true. */
  deleted: boolean;
  /** How many keys were revoked. */
  revokedKeys: number;
}

/** The time range to replay. */
export interface ReplayRequest {
  /** Replay what was missed at this time or later, at most 14 days ago. */
  since: string;
  /** Replay what was missed before this time. Default: now. */
  until?: string;
  /** Only count. Default: false. */
  dryRun?: boolean;
}

/** What a replay queued, or would queue. */
export interface Replayed {
  /** The number of deliveries that had failed. */
  failed: number;
  /** The number of deliveries that a deactivation had cancelled. */
  cancelled: number;
  /** The number of events that had no delivery. */
  missed: number;
  /** Whether there is more. Replay again after these have been sent. */
  more: boolean;
}

/** The whole URL of a webhook. */
export interface RevealedUrl {
  /** The URL that deliveries are sent to. */
  url: string;
}

/** The options of a key rotation. */
export interface RotateKeyRequest {
  /** How long the old key stays valid, in seconds. */
  overlapSeconds?: number;
}

/** The options of a secret rotation. */
export interface RotateSecretRequest {
  /** How long the old secret stays valid, in seconds. */
  overlapSeconds?: number;
}

/** A new key that replaces another. */
export interface RotatedKey {
  /** The id of the key. */
  id: string;
  /** The name of the key. */
  name: string;
  /** The last four characters of the key. */
  last4: string;
  /** The scopes of the key. */
  scopes: ('read:directory' | 'read:events' | 'write:webhooks')[];
  /** When the key expires. Null if it does not expire. */
  expiresAt: string | null;
  /** When the key was revoked. */
  revokedAt: string | null;
  /** When the operator suspended the key. */
  suspendedAt: string | null;
  /** Why the operator suspended the key. Null if it is not suspended. */
  suspendedReason: string | null;
  /** When the key was last used, up to a minute late. */
  lastUsedAt: string | null;
  /** The number of requests with the key since midnight UTC, up to a minute late. */
  usesToday: number;
  /** When the key was created. */
  createdAt: string;
  /** The value of the key. Only this response has it. */
  key: string;
  /** The key that was replaced. */
  previous: {
    /** The id of the key. */
    id: string;
    /** When the previous key expires. */
    endsAt: string;
  };
}

/** With `response`, `error`, `subject` or `search`: which deliveries were searched. `total` counts the matches among these. Null without these filters: `total` then counts all matches. */
export interface SearchedDeliveries {
  /** The number of deliveries that were searched. */
  deliveries: number;
  /** False if there are more than 10,000, of which the rest were not searched. Choose a shorter time with `since` and `until`. */
  complete: boolean;
}

/** The available ways to sign in. */
export interface SignInOptions {
  /** Sign-in with an email address and a password. */
  password: {
    /** Whether users can create accounts and reset passwords by link. */
    signUp: boolean;
    /** Where links are sent: by mail, or to the terminal of the service. Null if there are no links. */
    links: 'mail' | 'terminal' | null;
    /** The minimum length of a password. */
    lengthMin: number;
    /** The maximum length of a password. */
    lengthMax: number;
  };
  /** The sign-in providers. */
  providers: SignInProvider[];
}

/** A sign-in provider. */
export interface SignInProvider {
  /** The id of the provider. */
  id: string;
  /** The display name of the provider. */
  name: string;
}

/** A row or organisation that a run skipped. */
export interface SyncProblem {
  /** The row of the source, or the slug of the organisation. */
  subject: string;
  /** Why it was skipped. */
  reason: string;
}

/** A run of a sync. */
export interface SyncRun {
  /** The unique identifier. */
  id: string;
  /** The kind of sync. */
  kind: 'blueprints' | 'chat';
  /** The source of the data, without credentials and query. */
  source: string;
  /** What started the run. */
  trigger: 'schedule' | 'cli' | 'api';
  /** A failed run has changed nothing. New values may be added. */
  status: 'running' | 'succeeded' | 'failed';
  /** When the run started. */
  startedAt: string;
  /** When the run ended. Null if it is running or was interrupted. */
  finishedAt: string | null;
  /** The duration of the run in milliseconds. */
  durationMs: number | null;
  /** The counts of a succeeded run, as in its event. Blueprints: total, created, updated, retired, unchanged, failed. Chat, for listed organisations only: orgs, updated, unchanged, failed, members. */
  counts: {
    [k: string]: number;
  } | null;
  /** The release of the source. */
  version: string | null;
  /** A machine-readable reason why the run failed. New values may be added. */
  reason:
    | 'unreachable'
    | 'refused'
    | 'cut_off'
    | 'too_large'
    | 'too_slow'
    | 'malformed'
    | 'empty'
    | 'shrunk'
    | 'bad_rows'
    | 'unauthorized'
    | 'unavailable'
    | 'stopped'
    | 'interrupted'
    | 'internal'
    | null;
  /** A message for people that says why the run failed. */
  message: string | null;
  /**
   * The first 100 skipped rows or organisations.
   *
   * @maxItems 100
   */
  problems: SyncProblem[];
}

/** What one app used. */
export interface UsedApp {
  /** The id of the app. Null: platform keys. */
  appId: string | null;
  /** The name of the app. Null if it was deleted. */
  name: string | null;
  /** The number of requests with a key. */
  requests: number;
  /** Those of them with a status of 4xx or 5xx, or that broke off. */
  errors: number;
  /** The size of the responses, with their headers, in bytes. */
  bytes: number;
  /** The number of events that GET /events returned. */
  events: number;
  /** The number of deliveries that were queued and have ended. */
  deliveries: number;
}

/** A webhook. */
export interface Webhook {
  /** The unique identifier. */
  id: string;
  /** The URL that deliveries are sent to. Of a chat channel, only its origin: the rest authorises whoever has it, and is never shown again. */
  url: string;
  /** What a request looks like. `json`: the signed event. `discord`, `slack` and `teams`: a message for a channel of that platform. It never changes. New values may be added. */
  format?: 'json' | 'discord' | 'slack' | 'teams';
  /** A description of the webhook. */
  description: string | null;
  /** The names of the events to send. Null for all events that the app can receive, including future ones, except those marked opt-in. */
  events: string[] | null;
  /** Filters by the name of an event: only events that match are sent. Events that are not named pass. Null for none. */
  filters?: {
    [k: string]: unknown;
  } | null;
  /** Whether the webhook receives events. */
  active: boolean;
  /** The first that applies. `suspended`: by the operator. `deactivated`: see `deactivatedReason`. `failing`: deliveries failed after all attempts, and none has succeeded since. `retrying`: the last attempt failed, and the delivery is tried again. `new`: no attempt has ended yet. `healthy`: the last attempt succeeded. Tests and probes do not count. New values may be added. */
  health?: 'suspended' | 'deactivated' | 'failing' | 'retrying' | 'new' | 'healthy';
  /** When the webhook was deactivated. */
  deactivatedAt: string | null;
  /** `failing`: too many deliveries in a row failed. `gone`: the receiver responded with 410, or the chat channel or its webhook was deleted. `owner`: the owner deactivated it. New values may be added. */
  deactivatedReason: 'failing' | 'gone' | 'owner' | null;
  /** When the operator suspended the webhook or its app. */
  suspendedAt: string | null;
  /** Why the operator suspended the webhook or its app. Null if it is not suspended. */
  suspendedReason: string | null;
  /** Whether the service probes the webhook after it was deactivated as `failing`, and activates it when it responds again. */
  selfHealing: boolean;
  /** Whether what the webhook missed is replayed when probes activate it. */
  replayAfterHealing: boolean;
  /** When an attempt last succeeded. */
  lastSuccessAt: string | null;
  /** When an attempt last failed. */
  lastFailureAt: string | null;
  /** The number of failed deliveries since the last success. */
  exhaustedInARow: number;
  /** When the next probe of the webhook is due: in the past while the service cannot make it, for example because it cannot read the secret. Null if it does not probe it. */
  nextProbeAt: string | null;
  /** When the previous secret expires. Until then, deliveries are signed with both secrets. */
  previousSecretExpiresAt: string | null;
  /** The names of the headers that you added. Their values are not returned. */
  headerNames?: string[];
  /** When the webhook was created. */
  createdAt: string;
  /** When the settings or the state of the webhook last changed. */
  updatedAt: string;
}

/** The fields to change. Omitted fields stay the same. */
export interface WebhookChanges {
  /** The URL to send deliveries to: https, without credentials and fragment. */
  url?: string;
  /**
   * The names of the events to send. Defaults to all events that the app can receive, including future ones, except those marked opt-in. Events today: `org.created`, `alliance.created`, `blueprint.sync.completed`, `chat.sync.completed`, `system.maintenance.enabled`, `system.maintenance.disabled`, `application.created`, `event.created`, `resource.request.created`, `resource.offer.created`; opt-in: `org.updated`, `org.removed`, `alliance.updated`, `alliance.removed`, `blueprint.updated`, `blueprint.removed`. More may be added.
   *
   * @minItems 1
   * @maxItems 50
   */
  events?: string[] | null;
  /** Filters by the name of an event: only events that match are sent. Events that are not named pass. Each has at most 50 fields, operators and values in lists, and at most 4 objects in each other. */
  filters?: {
    [k: string]: unknown;
  } | null;
  /** A description for your own use, without control characters. */
  description?: string | null;
  /** Headers that the service adds to each delivery, such as credentials: at most 10, with names of at most 100 and values of at most 2000 characters, together 4096. Values are encrypted and never returned. Null or an empty object for none, as for every chat channel. */
  headers?: {
    [k: string]: string;
  } | null;
  /** True reactivates the webhook and resets its failure count. False deactivates it and cancels pending deliveries. */
  active?: boolean;
  /** Whether to probe the webhook after it was deactivated as `failing`, and to activate it when it responds again. False for chat channels. */
  selfHealing?: boolean;
  /** Whether to replay what the webhook missed when probes activate it. */
  replayAfterHealing?: boolean;
}

/** A new webhook. */
export interface WebhookInput {
  /** The URL to send deliveries to: https, without credentials and fragment. */
  url: string;
  /** What a request looks like. `json` (the default): the signed event. `discord`, `slack` and `teams`: a message; the URL is that of an incoming webhook of a channel. It cannot be changed. */
  format?: 'json' | 'discord' | 'slack' | 'teams';
  /**
   * The names of the events to send. Defaults to all events that the app can receive, including future ones, except those marked opt-in. Events today: `org.created`, `alliance.created`, `blueprint.sync.completed`, `chat.sync.completed`, `system.maintenance.enabled`, `system.maintenance.disabled`, `application.created`, `event.created`, `resource.request.created`, `resource.offer.created`; opt-in: `org.updated`, `org.removed`, `alliance.updated`, `alliance.removed`, `blueprint.updated`, `blueprint.removed`. More may be added.
   *
   * @minItems 1
   * @maxItems 50
   */
  events?: string[] | null;
  /** Filters by the name of an event: only events that match are sent. Events that are not named pass. Each has at most 50 fields, operators and values in lists, and at most 4 objects in each other. */
  filters?: {
    [k: string]: unknown;
  } | null;
  /** A description for your own use, without control characters. */
  description?: string | null;
  /** Headers that the service adds to each delivery, such as credentials: at most 10, with names of at most 100 and values of at most 2000 characters, together 4096. Values are encrypted and never returned. Null or an empty object for none, as for every chat channel. */
  headers?: {
    [k: string]: string;
  } | null;
}

/** The deliveries of a webhook in the last 24 hours. */
export interface WebhookStats {
  /** The id of the webhook. */
  webhookId: string;
  total: DeliveryTotals;
  /** The last 24 hours, oldest first. */
  hours: HourOfWebhook[];
}

/** The options of a test. */
export interface WebhookTestRequest {
  /** The event whose example data the test includes. */
  event?: string | null;
}

/** The query parameters of `listAccountActivity`. */
export interface ListAccountActivityQuery {
  /** The page number, starting at 1. Pages past the last one are empty. */
  page?: number;
  /** The maximum number of entries on a page. */
  limit?: number;
}

/** The query parameters of `listAudit`. */
export interface ListAuditQuery {
  /** The page number, starting at 1. Pages past the last one are empty. */
  page?: number;
  /** The maximum number of entries on a page. */
  limit?: number;
  /** Return only changes to this app. */
  app?: string;
}

/** The query parameters of `listBindable`. */
export interface ListBindableQuery {
  /** The page number, starting at 1. Pages past the last one are empty. */
  page?: number;
  /** The maximum number of entries on a page. */
  limit?: number;
  /** Words to find, as in the search of the public API. Also searches entries that are not available. */
  search?: string;
}

/** The query parameters of `getAppUsage`. */
export interface GetAppUsageQuery {
  /** The number of days, with today. */
  days?: number;
}

/** The query parameters of `removeMember`. */
export interface RemoveMemberQuery {
  /** Whether to revoke the keys that the member created or rotated. Default: false. */
  revokeKeys?: boolean;
}

/** The query parameters of `listKeys`. */
export interface ListKeysQuery {
  /** The page number, starting at 1. Pages past the last one are empty. */
  page?: number;
  /** The maximum number of entries on a page. */
  limit?: number;
}

/** The query parameters of `listWebhooks`. */
export interface ListWebhooksQuery {
  /** The page number, starting at 1. Pages past the last one are empty. */
  page?: number;
  /** The maximum number of entries on a page. */
  limit?: number;
}

/** The query parameters of `listDeliveries`. */
export interface ListDeliveriesQuery {
  /** The page number, starting at 1. Pages past the last one are empty. */
  page?: number;
  /** The maximum number of entries on a page. */
  limit?: number;
  /** Return only deliveries with this status. `undelivered`: those that are failed or cancelled, without tests and probes. */
  status?: 'pending' | 'succeeded' | 'failed' | 'cancelled' | 'undelivered';
  /** Return only deliveries of this event. */
  event?:
    | 'org.created'
    | 'alliance.created'
    | 'org.updated'
    | 'org.removed'
    | 'alliance.updated'
    | 'alliance.removed'
    | 'blueprint.updated'
    | 'blueprint.removed'
    | 'blueprint.sync.completed'
    | 'chat.sync.completed'
    | 'system.maintenance.enabled'
    | 'system.maintenance.disabled'
    | 'application.created'
    | 'event.created'
    | 'resource.request.created'
    | 'resource.offer.created'
    | 'webhook.test'
    | 'webhook.probe';
  /** Return only deliveries queued at this time or later. */
  since?: string;
  /** Return only deliveries queued before this time. */
  until?: string;
}

/** The query parameters of `explainTime`. */
export interface ExplainTimeQuery {
  /** The name of the event. */
  event:
    | 'org.created'
    | 'alliance.created'
    | 'application.created'
    | 'event.created'
    | 'resource.request.created'
    | 'resource.offer.created'
    | 'org.updated'
    | 'alliance.updated';
  /** The slug of the organisation or alliance of the event, or a former one while nobody else can get it. */
  subject: string;
  /** When the event happened. */
  at: string;
}

/** The query parameters of `countRecoverableDeliveries`. */
export interface CountRecoverableDeliveriesQuery {
  /** Count deliveries that ended at this time or later, at most 14 days ago, which is the default. */
  since?: string;
}

/** The query parameters of `listAppDeliveries`. */
export interface ListAppDeliveriesQuery {
  /** The page number, starting at 1. Pages past the last one are empty. */
  page?: number;
  /** The maximum number of entries on a page. */
  limit?: number;
  /** Return only deliveries with this status. `undelivered`: those that are failed or cancelled, without tests and probes. */
  status?: 'pending' | 'succeeded' | 'failed' | 'cancelled' | 'undelivered';
  /** Return only deliveries of this event. */
  event?:
    | 'org.created'
    | 'alliance.created'
    | 'org.updated'
    | 'org.removed'
    | 'alliance.updated'
    | 'alliance.removed'
    | 'blueprint.updated'
    | 'blueprint.removed'
    | 'blueprint.sync.completed'
    | 'chat.sync.completed'
    | 'system.maintenance.enabled'
    | 'system.maintenance.disabled'
    | 'application.created'
    | 'event.created'
    | 'resource.request.created'
    | 'resource.offer.created'
    | 'webhook.test'
    | 'webhook.probe';
  /** Return only deliveries queued at this time or later. */
  since?: string;
  /** Return only deliveries queued before this time. */
  until?: string;
  /** Only deliveries to this webhook. */
  webhookId?: string;
  /** Only deliveries whose last attempt had this response: a status such as `500`, a class such as `5xx`, or `none`. */
  response?: string;
  /** Only deliveries whose last attempt ended with this error. */
  error?: 'dns' | 'connect' | 'tls' | 'timeout' | 'blocked' | 'reset' | 'interrupted';
  /** Only deliveries about the organisation or alliance that has this slug, or had it while nobody else can get it. */
  subject?: string;
  /** The id of a delivery or event, or text that the body contains, regardless of case. Viewers can only search for ids. */
  search?: string;
}

/** The query parameters of `getDeliveryStats`. */
export interface GetDeliveryStatsQuery {
  /** `hour`: the last hour by minute, by how each delivery ended last. `day`: the last 24 hours by hour. `week`: the last 7 days by 6 hours. */
  range?: 'hour' | 'day' | 'week';
  /** Only deliveries to this webhook. */
  webhookId?: string;
}

/** The query parameters of `listPastEvents`. */
export interface ListPastEventsQuery {
  /** The `nextCursor` of the page before. */
  before?: string;
}

/** The query parameters of `listAllApps`. */
export interface ListAllAppsQuery {
  /** The page number, starting at 1. Pages past the last one are empty. */
  page?: number;
  /** The maximum number of entries on a page. */
  limit?: number;
  /** Return only those whose name, address or id contains this. */
  search?: string;
}

/** The query parameters of `listAllAccounts`. */
export interface ListAllAccountsQuery {
  /** The page number, starting at 1. Pages past the last one are empty. */
  page?: number;
  /** The maximum number of entries on a page. */
  limit?: number;
  /** Return only those whose name, address or id contains this. */
  search?: string;
}

/** The query parameters of `listAllWebhooks`. */
export interface ListAllWebhooksQuery {
  /** The page number, starting at 1. Pages past the last one are empty. */
  page?: number;
  /** The maximum number of entries on a page. */
  limit?: number;
  /** As `health` of a webhook. */
  health?: 'suspended' | 'deactivated' | 'failing' | 'retrying' | 'new' | 'healthy';
  /** Return only webhooks of this app. */
  app?: string;
  /** Return only the webhook with this id. */
  id?: string;
}

/** The query parameters of `listAllKeys`. */
export interface ListAllKeysQuery {
  /** The page number, starting at 1. Pages past the last one are empty. */
  page?: number;
  /** The maximum number of entries on a page. */
  limit?: number;
  /** Return only those whose name, address or id contains this. */
  search?: string;
}

/** The query parameters of `listAllUsage`. */
export interface ListAllUsageQuery {
  /** The page number, starting at 1. Pages past the last one are empty. */
  page?: number;
  /** The maximum number of entries on a page. */
  limit?: number;
  /** The number of days, with today. */
  days?: number;
}

/** The query parameters of `restore`. */
export interface RestoreQuery {
  /** Whether the worker replays what the webhooks have missed. */
  replay?: boolean;
}

/** The query parameters of `listEveryDelivery`. */
export interface ListEveryDeliveryQuery {
  /** `undelivered`: failed or cancelled, without tests and probes. */
  status?: 'pending' | 'succeeded' | 'failed' | 'cancelled' | 'undelivered';
  /** Return only deliveries to this webhook. */
  webhook?: string;
  /** The id of the last delivery of the page before. */
  before?: string;
}

/** The query parameters of `listEveryChange`. */
export interface ListEveryChangeQuery {
  /** Return only this action, such as `key.revoked`, or a group, such as `key`. */
  action?: string;
  /** Return only changes of the object with this id. */
  subject?: string;
  /** Return only changes that concern this app. */
  app?: string;
  /** The id of the last entry of the page before. */
  before?: number;
}

/** The query parameters of `listSyncs`. */
export interface ListSyncsQuery {
  /** The page number, starting at 1. Pages past the last one are empty. */
  page?: number;
  /** The maximum number of entries on a page. */
  limit?: number;
  /** Return only runs of this sync. */
  kind?: 'blueprints' | 'chat';
}

/** The query parameters of `listOrgs`. */
export interface ListOrgsQuery {
  /** The page number, starting at 1. Pages past the last one are empty. */
  page?: number;
  /** The maximum number of entries on a page. */
  limit?: number;
  /** Words to find in name, tag, slug, aliases and description, in any order, regardless of case and accents. Each may be a part of a word. Without `sort`, the most relevant hits come first. */
  search?: string;
  /**
   * Return only the entries with this slug. Repeat the parameter for several, up to 100.
   *
   * @minItems 1
   * @maxItems 100
   */
  slug?: string[];
  /**
   * Return only members of the alliance with this slug. Repeat the parameter for several, up to 100.
   *
   * @minItems 1
   * @maxItems 100
   */
  alliance?: string[];
  /**
   * Return only organisations with this primary or secondary activity. Repeat the parameter for several, up to 100.
   *
   * @minItems 1
   * @maxItems 100
   */
  activity?: string[];
  /**
   * Return only organisations with this BCP 47 language tag. Repeat the parameter for several, up to 100.
   *
   * @minItems 1
   * @maxItems 100
   */
  language?: string[];
  /**
   * Return only entries with this tag, regardless of case and accents. Repeat the parameter for several, up to 100.
   *
   * @minItems 1
   * @maxItems 100
   */
  tag?: string[];
  /**
   * Return only organisations with this location, regardless of case and accents. Repeat the parameter for several, up to 100.
   *
   * @minItems 1
   * @maxItems 100
   */
  location?: string[];
  /**
   * Return only organisations with this status. Repeat the parameter for several, up to 100.
   *
   * @minItems 1
   * @maxItems 100
   */
  status?: ('active' | 'closed')[];
  /** Return only organisations that are, or are not, verified. */
  verified?: boolean;
  /** Return only entries with at least so many members. */
  memberCountMin?: number;
  /** Return only entries with at most so many members. */
  memberCountMax?: number;
  /** Return only organisations that are, or are not, recruiting. */
  recruiting?: boolean;
  /** The field to sort by, in descending order with `-`. Ties are sorted by id. Default: by relevance in a search, otherwise by name. */
  sort?:
    | 'name'
    | '-name'
    | 'createdAt'
    | '-createdAt'
    | 'updatedAt'
    | '-updatedAt'
    | 'memberCount'
    | '-memberCount';
  /** Return only organisations that are, or are not, listed. Default: both. */
  listed?: boolean;
}

/** The query parameters of `putOrg`. */
export interface PutOrgQuery {
  /** Whether a name that changes stays as one of the aliases. */
  keepName?: boolean;
}

/** The query parameters of `patchOrg`. */
export interface PatchOrgQuery {
  /** Whether a name that changes stays as one of the aliases. */
  keepName?: boolean;
}

/** The query parameters of `listAlliances`. */
export interface ListAlliancesQuery {
  /** The page number, starting at 1. Pages past the last one are empty. */
  page?: number;
  /** The maximum number of entries on a page. */
  limit?: number;
  /** Words to find in name, tag, slug, aliases and description, in any order, regardless of case and accents. Each may be a part of a word. Without `sort`, the most relevant hits come first. */
  search?: string;
  /**
   * Return only the entries with this slug. Repeat the parameter for several, up to 100.
   *
   * @minItems 1
   * @maxItems 100
   */
  slug?: string[];
  /**
   * Return only entries with this tag, regardless of case and accents. Repeat the parameter for several, up to 100.
   *
   * @minItems 1
   * @maxItems 100
   */
  tag?: string[];
  /**
   * Return only alliances with this status. Repeat the parameter for several, up to 100.
   *
   * @minItems 1
   * @maxItems 100
   */
  status?: ('active' | 'disbanded')[];
  /** Return only alliances that are, or are not, recruiting. */
  recruiting?: boolean;
  /** Return only entries with at least so many members. */
  memberCountMin?: number;
  /** Return only entries with at most so many members. */
  memberCountMax?: number;
  /** The field to sort by, in descending order with `-`. Ties are sorted by id. Default: by relevance in a search, otherwise by name. */
  sort?:
    | 'name'
    | '-name'
    | 'createdAt'
    | '-createdAt'
    | 'updatedAt'
    | '-updatedAt'
    | 'memberCount'
    | '-memberCount';
}

/** The query parameters of `putAlliance`. */
export interface PutAllianceQuery {
  /** Whether a name that changes stays as one of the aliases. */
  keepName?: boolean;
}

/** The query parameters of `patchAlliance`. */
export interface PatchAllianceQuery {
  /** Whether a name that changes stays as one of the aliases. */
  keepName?: boolean;
}

/** The query parameters of `listBlueprints`. */
export interface ListBlueprintsQuery {
  /** The page number, starting at 1. Pages past the last one are empty. */
  page?: number;
  /** The maximum number of entries on a page. */
  limit?: number;
  /** Words to find in name, key, output and ingredients, in any order, regardless of case and accents. Each may be a part of a word. Without `sort`, the most relevant hits come first. */
  search?: string;
  /**
   * Return only the entries with this slug. Repeat the parameter for several, up to 100.
   *
   * @minItems 1
   * @maxItems 100
   */
  slug?: string[];
  /**
   * Return only blueprints of this category. Repeat the parameter for several, up to 100.
   *
   * @minItems 1
   * @maxItems 100
   */
  category?: string[];
  /** Return only active (true) or only retired (false) blueprints. Default: both. */
  active?: boolean;
  /**
   * Return only blueprints that need the item with this key or name. Repeat the parameter for several, up to 100.
   *
   * @minItems 1
   * @maxItems 100
   */
  ingredient?: string[];
  /** The field to sort by, in descending order with `-`. Ties are sorted by id. Default: by relevance in a search, otherwise by name. */
  sort?: 'name' | '-name' | 'createdAt' | '-createdAt' | 'updatedAt' | '-updatedAt';
}
