/** Generated from openapi.json: npm run openapi. Do not edit. */

/** An alliance of organisations. */
export interface Alliance {
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
  status: 'active' | 'disbanded' | (string & {});
  /** When the alliance was founded. */
  foundedAt: string | null;
  /** The API URL of this object. */
  url: string;
  /** When the object was created. */
  createdAt: string;
  /** When a field of this object last changed. */
  updatedAt: string;
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

/** The request body for `alliance.created`. */
export interface AllianceCreatedDelivery {
  /** The id of the delivery, the same for all attempts. */
  id: string;
  /** The name of the event. */
  event: 'alliance.created';
  /** When the event happened. */
  createdAt: string;
  data: Alliance;
}

/** An alliance with its member organisations. */
export interface AllianceDetail {
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
  status: 'active' | 'disbanded' | (string & {});
  /** When the alliance was founded. */
  foundedAt: string | null;
  /** The API URL of this object. */
  url: string;
  /** When the object was created. */
  createdAt: string;
  /** When a field of this object last changed. */
  updatedAt: string;
  /** The listed member organisations, sorted by name. */
  orgs: OrganisationReference[];
}

/** A summary of a member organisation. */
export interface OrganisationReference {
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

/** The request body for `alliance.removed`. */
export interface AllianceRemovedDelivery {
  /** The id of the delivery, the same for all attempts. */
  id: string;
  /** The name of the event. */
  event: 'alliance.removed';
  /** When the event happened. */
  createdAt: string;
  data: RemovedEntry;
}

/** An entry that is not public any more. */
export interface RemovedEntry {
  /** The id of the entry. */
  id: string;
}

/** The request body for `alliance.updated`. */
export interface AllianceUpdatedDelivery {
  /** The id of the delivery, the same for all attempts. */
  id: string;
  /** The name of the event. */
  event: 'alliance.updated';
  /** When the event happened. */
  createdAt: string;
  data: Alliance;
}

/** What the operator announces. */
export interface Announcement {
  /** The id of the announcement. */
  id: string;
  /** How serious it is. More may be added. New values may be added. */
  severity: 'info' | 'warning' | 'critical' | (string & {});
  /** What the operator says. */
  text: string;
  /** When it takes place. Null: now. */
  startsAt: string | null;
  /** Until when it is shown. Null: until the operator ends it. */
  endsAt: string | null;
  /** When it was announced. */
  createdAt: string;
}

/** An application to join an organisation. */
export interface Application {
  /** The platform's id. */
  id: string;
  /** The public name of the applicant. */
  applicantHandle: string;
  /** When the application was submitted. */
  submittedAt: string;
}

/** The request body for `application.created`. */
export interface ApplicationCreatedDelivery {
  /** The id of the delivery, the same for all attempts. */
  id: string;
  /** The name of the event. */
  event: 'application.created';
  /** When the event happened. */
  createdAt: string;
  /** The organisation or alliance, and the event. */
  data: {
    /** The organization that the event is about. */
    organizationId: string;
    organization: EventSubject;
    application: Application;
  };
}

/** The organisation or alliance that the event is about. */
export interface EventSubject {
  /** The unique identifier. */
  id: string;
  /** The unique name in URLs. */
  slug: string;
  /** The name. */
  name: string;
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
  error:
    | 'dns'
    | 'connect'
    | 'tls'
    | 'timeout'
    | 'blocked'
    | 'reset'
    | 'interrupted'
    | (string & {})
    | null;
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
    | (string & {})
    | null;
  /** The headers of the response. */
  responseHeaders: {
    [k: string]: string;
  } | null;
  /** The first 4 KiB of the response body, as text. */
  responseBody: string | null;
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

/** The requested facets, over all entries that the request matches. */
export interface BlueprintFacets {
  /** At most 100 values, the most frequent first. */
  category?: FacetValue[];
}

/** A value and its number of entries. */
export interface FacetValue {
  /** A value that the filter of the same name accepts. */
  value: string;
  /** The number of entries with this value. */
  count: number;
}

/** The request body for `blueprint.removed`. */
export interface BlueprintRemovedDelivery {
  /** The id of the delivery, the same for all attempts. */
  id: string;
  /** The name of the event. */
  event: 'blueprint.removed';
  /** When the event happened. */
  createdAt: string;
  data: RemovedEntry;
}

/** A blueprint sync that succeeded. */
export interface BlueprintSyncCompleted {
  /** The id of the run. */
  runId: string;
  /** The source of the data. */
  source: string;
  /** When the run started. */
  startedAt: string;
  /** When the run ended. */
  finishedAt: string;
  /** The duration of the run in milliseconds. */
  durationMs: number;
  /** The counts of the run. */
  counts: {
    /** The number of blueprints in the source. */
    total: number;
    /** The number of new blueprints. */
    created: number;
    /** The number of changed blueprints. */
    updated: number;
    /** The number of blueprints that the source no longer has. */
    retired: number;
    /** The number of unchanged blueprints. */
    unchanged: number;
    /** The number of blueprints that could not be read. */
    failed: number;
  };
  /** The release of the source. */
  version: string | null;
}

/** The request body for `blueprint.sync.completed`. */
export interface BlueprintSyncCompletedDelivery {
  /** The id of the delivery, the same for all attempts. */
  id: string;
  /** The name of the event. */
  event: 'blueprint.sync.completed';
  /** When the event happened. */
  createdAt: string;
  data: BlueprintSyncCompleted;
}

/** The request body for `blueprint.updated`. */
export interface BlueprintUpdatedDelivery {
  /** The id of the delivery, the same for all attempts. */
  id: string;
  /** The name of the event. */
  event: 'blueprint.updated';
  /** When the event happened. */
  createdAt: string;
  data: Blueprint;
}

/** An event of an organisation. */
export interface CalendarEvent {
  /** The platform's id. */
  id: string;
  /** The title of the event. */
  title: string;
  /** The category of the event. */
  category: string | null;
  /** When the event starts. */
  startsAt: string;
  /** When the event ends. Null if it is open-ended. */
  endsAt: string | null;
  /** An IANA time zone. */
  timezone: string | null;
  /** The location of the event. */
  location: string | null;
  /** A page with more information. */
  url: string | null;
}

/** What else has changed. Absent without `changedSince`. */
export interface ChangesMeta {
  /** The ids of entries that are not public any more. */
  removed: string[];
  /** Send it as `changedSince` to get the next changes, now or later. */
  nextCursor: string;
  /** Whether there are more changes now. */
  hasMore: boolean;
}

/** A chat sync that succeeded. */
export interface ChatSyncCompleted {
  /** The id of the run. */
  runId: string;
  /** The source of the data. */
  source: string;
  /** When the run started. */
  startedAt: string;
  /** When the run ended. */
  finishedAt: string;
  /** The duration of the run in milliseconds. */
  durationMs: number;
  /** The counts of the run. */
  counts: {
    /** The number of listed organisations with a chat server. */
    orgs: number;
    /** The number of organisations whose member count changed. */
    updated: number;
    /** The number of organisations whose member count is unchanged. */
    unchanged: number;
    /** The number of organisations whose chat server did not respond. */
    failed: number;
    /** The total number of their members. */
    members: number;
  };
  /** The release of the source. */
  version: string | null;
}

/** The request body for `chat.sync.completed`. */
export interface ChatSyncCompletedDelivery {
  /** The id of the delivery, the same for all attempts. */
  id: string;
  /** The name of the event. */
  event: 'chat.sync.completed';
  /** When the event happened. */
  createdAt: string;
  data: ChatSyncCompleted;
}

/** The new webhook and its secret. */
export interface CreatedWebhook {
  /** The unique identifier. */
  id: string;
  /** The URL that deliveries are sent to. Of a chat channel, only its origin: the rest authorises whoever has it, and is never shown again. */
  url: string;
  /** What a request looks like. `json`: the signed event. `discord`, `slack` and `teams`: a message for a channel of that platform. It never changes. New values may be added. */
  format?: 'json' | 'discord' | 'slack' | 'teams' | (string & {});
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
  health?: 'suspended' | 'deactivated' | 'failing' | 'retrying' | 'new' | 'healthy' | (string & {});
  /** When the webhook was deactivated. */
  deactivatedAt: string | null;
  /** `failing`: too many deliveries in a row failed. `gone`: the receiver responded with 410, or the chat channel or its webhook was deleted. `owner`: the owner deactivated it. New values may be added. */
  deactivatedReason: 'failing' | 'gone' | 'owner' | (string & {}) | null;
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

/** The position where this page ends. */
export interface CursorPagination {
  /** The maximum number of entries on a page. */
  limit: number;
  /** Send it as `after` to get the next page, now or later. As it was sent if the page is empty, and null if there was no `after` either. */
  nextCursor: string | null;
  /** Whether there are more entries now. */
  hasMore: boolean;
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
  status: 'pending' | 'succeeded' | 'failed' | 'cancelled' | (string & {});
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
  status: 'pending' | 'succeeded' | 'failed' | 'cancelled' | (string & {});
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

/** The request body for `event.created`. */
export interface EventCreatedDelivery {
  /** The id of the delivery, the same for all attempts. */
  id: string;
  /** The name of the event. */
  event: 'event.created';
  /** When the event happened. */
  createdAt: string;
  /** The organisation or alliance, and the event. */
  data: {
    /** The organization that the event is about. */
    organizationId: string;
    organization: EventSubject;
    event: CalendarEvent;
  };
}

/** An example of an event. */
export interface EventSample {
  /** The name of the requested event. */
  event: string;
  /** An example of its `data`. */
  data: {
    [k: string]: unknown;
  };
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
  result:
    | 'unavailable'
    | 'waiting'
    | 'delivered'
    | 'not_sent'
    | 'would_send'
    | 'unknown'
    | (string & {});
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

/** The current maintenance. */
export interface Maintenance {
  /** A message from the operator. */
  message: string | null;
  /** When the maintenance began. */
  since: string;
  /** When the maintenance is expected to end. Null if unknown. */
  expectedEnd: string | null;
}

/** A maintenance that has ended. */
export interface MaintenanceDisabled {
  /** When the maintenance began. */
  since: string;
  /** When the maintenance ended. */
  endedAt: string;
}

/** A maintenance that has begun. */
export interface MaintenanceEnabled {
  /** A message from the operator. */
  message: string | null;
  /** When the maintenance began. */
  since: string;
  /** When the maintenance is expected to end. Null if unknown. */
  expectedEnd: string | null;
}

/** The OpenAPI document, without the envelope. */
export interface OpenApiDocument {
  /** The version of OpenAPI. */
  openapi: string;
  [k: string]: unknown;
}

/** The request body for `org.created`. */
export interface OrgCreatedDelivery {
  /** The id of the delivery, the same for all attempts. */
  id: string;
  /** The name of the event. */
  event: 'org.created';
  /** When the event happened. */
  createdAt: string;
  data: Organisation;
}

/** An organisation. */
export interface Organisation {
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
  status: 'active' | 'closed' | (string & {});
  /** When the organisation was founded. */
  foundedAt: string | null;
  /** The API URL of this object. */
  url: string;
  /** When the object was created. */
  createdAt: string;
  /** When a field of this object last changed, `alliance` only if it is another one. */
  updatedAt: string;
}

/** The request body for `org.removed`. */
export interface OrgRemovedDelivery {
  /** The id of the delivery, the same for all attempts. */
  id: string;
  /** The name of the event. */
  event: 'org.removed';
  /** When the event happened. */
  createdAt: string;
  data: RemovedEntry;
}

/** The request body for `org.updated`. */
export interface OrgUpdatedDelivery {
  /** The id of the delivery, the same for all attempts. */
  id: string;
  /** The name of the event. */
  event: 'org.updated';
  /** When the event happened. */
  createdAt: string;
  data: Organisation;
}

/** The requested facets, over all entries that the request matches. */
export interface OrganisationFacets {
  /** At most 100 values, the most frequent first. */
  activity?: FacetValue[];
  /** At most 100 values, the most frequent first. */
  language?: FacetValue[];
  /** At most 100 values, the most frequent first. */
  recruiting?: FacetValue[];
  /** At most 100 values, the most frequent first. */
  alliance?: FacetValue[];
  /** At most 100 values, the most frequent first. */
  verified?: FacetValue[];
  /** At most 100 values, the most frequent first. */
  status?: FacetValue[];
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

/** The time to recover deliveries from. */
export interface RecoverRequest {
  /** Recover deliveries that ended at this time or later, at most 14 days ago. */
  since: string;
}

/** The result of a recovery. */
export interface Recovered {
  /** The number of deliveries that are pending again. */
  count: number;
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

/** An item and its quantity. */
export interface ResourceItem {
  /** The name of the item. */
  name: string;
  /** The quantity. */
  quantity: number;
  /** The unit of the quantity. Null means pieces. */
  unit: string | null;
}

/** An offer of resources in an alliance. */
export interface ResourceOffer {
  /** The platform's id. */
  id: string;
  /** The organisation that it comes from. */
  organization: string | null;
  /** A short summary. */
  title: string;
  /**
   * The items.
   *
   * @maxItems 200
   */
  items: ResourceItem[];
  /** When the offer ends. */
  availableUntil: string | null;
}

/** The request body for `resource.offer.created`. */
export interface ResourceOfferCreatedDelivery {
  /** The id of the delivery, the same for all attempts. */
  id: string;
  /** The name of the event. */
  event: 'resource.offer.created';
  /** When the event happened. */
  createdAt: string;
  /** The organisation or alliance, and the event. */
  data: {
    /** The alliance that the event is about. */
    allianceId: string;
    alliance: EventSubject;
    offer: ResourceOffer;
  };
}

/** A request for resources in an alliance. */
export interface ResourceRequest {
  /** The platform's id. */
  id: string;
  /** The organisation that it comes from. */
  organization: string | null;
  /** A short summary. */
  title: string;
  /**
   * The items.
   *
   * @maxItems 200
   */
  items: ResourceItem[];
  /** When the resources are needed by. */
  deadline: string | null;
}

/** The request body for `resource.request.created`. */
export interface ResourceRequestCreatedDelivery {
  /** The id of the delivery, the same for all attempts. */
  id: string;
  /** The name of the event. */
  event: 'resource.request.created';
  /** When the event happened. */
  createdAt: string;
  /** The organisation or alliance, and the event. */
  data: {
    /** The alliance that the event is about. */
    allianceId: string;
    alliance: EventSubject;
    request: ResourceRequest;
  };
}

/** The options of a secret rotation. */
export interface RotateSecretRequest {
  /** How long the old secret stays valid, in seconds. */
  overlapSeconds?: number;
}

/** How the search found these entries. Absent without `search`. */
export interface SearchMeta {
  /** Whether nothing had all words, so that the search found something like it. */
  relaxed: boolean;
  /** The words that a relaxed search left out, in lower case and without accents. */
  ignored: string[];
  /** The ids of the entries on this page in which a word has a typo. */
  typos: string[];
}

/** The state of the service. */
export interface ServiceStatus {
  /** `degraded`: a component has a problem, and reads may return 503. New values may be added. */
  status: 'ok' | 'degraded' | 'maintenance' | (string & {});
  /** The version of the service. */
  version: string;
  /** The version of the API. */
  apiVersion: string;
  /** The current time of the service. */
  time: string;
  maintenance: Maintenance | null;
  /** What the operator announces, newest first. */
  announcements: Announcement[];
  components: StatusComponents;
  counts: StatusCounts;
}

/** The state of each component. */
export interface StatusComponents {
  /** `unavailable`: the other values are the last known ones. New values may be added. */
  database: 'ok' | 'unavailable' | (string & {});
  /** `delayed`: a due delivery has waited for more than a minute, not counting those that wait for a slow or failing webhook, or an event has, and no worker runs. New values may be added. */
  deliveries: 'ok' | 'delayed' | 'unavailable' | (string & {});
  blueprintSync: SyncStatus;
  chatSync: SyncStatus;
}

/** The state of a sync. */
export interface SyncStatus {
  /** When a run last succeeded. Null if none has. */
  lastCompletedAt: string | null;
}

/** The size of the directory. */
export interface StatusCounts {
  /** The number of listed organisations. */
  orgs: number;
  /** The number of alliances. */
  alliances: number;
  /** The number of blueprints, active and retired. */
  blueprints: number;
}

/** An entry of the directory that matches a text. */
export interface Suggestion {
  /** The kind of entry. */
  kind: 'organization' | 'alliance' | 'blueprint';
  /** The unique name in URLs, among entries of its kind. */
  slug: string;
  /** The name. */
  name: string;
}

/** The request body for `system.maintenance.disabled`. */
export interface SystemMaintenanceDisabledDelivery {
  /** The id of the delivery, the same for all attempts. */
  id: string;
  /** The name of the event. */
  event: 'system.maintenance.disabled';
  /** When the event happened. */
  createdAt: string;
  data: MaintenanceDisabled;
}

/** The request body for `system.maintenance.enabled`. */
export interface SystemMaintenanceEnabledDelivery {
  /** The id of the delivery, the same for all attempts. */
  id: string;
  /** The name of the event. */
  event: 'system.maintenance.enabled';
  /** When the event happened. */
  createdAt: string;
  data: MaintenanceEnabled;
}

/** A webhook. */
export interface Webhook {
  /** The unique identifier. */
  id: string;
  /** The URL that deliveries are sent to. Of a chat channel, only its origin: the rest authorises whoever has it, and is never shown again. */
  url: string;
  /** What a request looks like. `json`: the signed event. `discord`, `slack` and `teams`: a message for a channel of that platform. It never changes. New values may be added. */
  format?: 'json' | 'discord' | 'slack' | 'teams' | (string & {});
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
  health?: 'suspended' | 'deactivated' | 'failing' | 'retrying' | 'new' | 'healthy' | (string & {});
  /** When the webhook was deactivated. */
  deactivatedAt: string | null;
  /** `failing`: too many deliveries in a row failed. `gone`: the receiver responded with 410, or the chat channel or its webhook was deleted. `owner`: the owner deactivated it. New values may be added. */
  deactivatedReason: 'failing' | 'gone' | 'owner' | (string & {}) | null;
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

/** Empty. */
export interface WebhookProbe {}

/** The request body for `webhook.probe`. */
export interface WebhookProbeDelivery {
  /** The id of the delivery, the same for all attempts. */
  id: string;
  /** The name of the event. */
  event: 'webhook.probe';
  /** When the event happened. */
  createdAt: string;
  data: WebhookProbe;
}

/** The data of a test. */
export interface WebhookTest {
  /** A message that says that this is a test. */
  message: string;
  /** The webhook that is tested. */
  webhookId: string;
  sample: EventSample | null;
}

/** The request body for `webhook.test`. */
export interface WebhookTestDelivery {
  /** The id of the delivery, the same for all attempts. */
  id: string;
  /** The name of the event. */
  event: 'webhook.test';
  /** When the event happened. */
  createdAt: string;
  data: WebhookTest;
}

/** The options of a test. */
export interface WebhookTestRequest {
  /** The event whose example data the test includes. */
  event?: string | null;
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
  /** Facets to count under `meta.facets`, separated by commas: `activity`, `language`, `recruiting`, `alliance`, `verified`, `status`. */
  facets?: string;
  /** Return the entries that have changed since this cursor, and under `meta.changes` the ids of those that are gone. The cursor is the `nextCursor` of an earlier response, or `now` to get the first one. Only `limit` can be combined with it. */
  changedSince?: string;
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
  /** Return the entries that have changed since this cursor, and under `meta.changes` the ids of those that are gone. The cursor is the `nextCursor` of an earlier response, or `now` to get the first one. Only `limit` can be combined with it. */
  changedSince?: string;
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
  /** Facets to count under `meta.facets`, separated by commas: `category`. */
  facets?: string;
  /** Return the entries that have changed since this cursor, and under `meta.changes` the ids of those that are gone. The cursor is the `nextCursor` of an earlier response, or `now` to get the first one. Only `limit` can be combined with it. */
  changedSince?: string;
}

/** The query parameters of `suggest`. */
export interface SuggestQuery {
  /** The text that was typed so far. */
  q: string;
}

/** The query parameters of `listEvents`. */
export interface ListEventsQuery {
  /** The `nextCursor` of an earlier response to this app. Defaults to the oldest stored event. */
  after?: string;
  /** Return the newest events instead of the oldest, in the same order. Not together with `after`. */
  newest?: boolean;
  /** The maximum number of entries on a page. */
  limit?: number;
  /** Return only this event. */
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
    | 'resource.offer.created';
  /** The id of a webhook of the app. Return only what it is sent now: by its events and filters, with the opt-in events that it names, also while it is deactivated. */
  webhook?: string;
}

/** The query parameters of `streamEvents`. */
export interface StreamEventsQuery {
  /** An `id` of the stream, or a `nextCursor` of `GET /events`. Defaults to the newest event: only later ones are sent. */
  after?: string;
  /** Return only this event. */
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
    | 'resource.offer.created';
  /** The id of a webhook of the app. Return only what it is sent now: by its events and filters, with the opt-in events that it names, also while it is deactivated. */
  webhook?: string;
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

/** The body of a delivery. `event` determines the type of `data`. New events may be added. */
export type WebhookEvent =
  | OrgCreatedDelivery
  | AllianceCreatedDelivery
  | OrgUpdatedDelivery
  | OrgRemovedDelivery
  | AllianceUpdatedDelivery
  | AllianceRemovedDelivery
  | BlueprintUpdatedDelivery
  | BlueprintRemovedDelivery
  | BlueprintSyncCompletedDelivery
  | ChatSyncCompletedDelivery
  | SystemMaintenanceEnabledDelivery
  | SystemMaintenanceDisabledDelivery
  | ApplicationCreatedDelivery
  | EventCreatedDelivery
  | ResourceRequestCreatedDelivery
  | ResourceOfferCreatedDelivery
  | WebhookTestDelivery
  | WebhookProbeDelivery;

/** The name of an event. */
export type EventName = WebhookEvent['event'];
