/** Generated from openapi.json: npm run openapi. Do not edit. */

/** An alliance of organisations. */
export interface Alliance {
  /** Stays the same when the alliance is renamed. */
  id: string;
  /** Its name in addresses; unique, and moves when it is renamed. */
  slug: string;
  /** Its name. */
  name: string;
  /** Its short form; several may share one. */
  tag: string | null;
  /** What it says of itself, as plain text. */
  description: string | null;
  /** Its logo, a picture. */
  logoUrl: string | null;
  /** Its banner, a wide picture. */
  bannerUrl: string | null;
  links: Links;
  /** Whether it takes new organisations. */
  recruiting: boolean;
  /** Member organisations that are listed. */
  orgCount: number;
  /** Members of those organisations together. */
  memberCount: number;
  /** Disbanded: it has ended and stays for the record. */
  status: 'active' | 'disbanded';
  /** When it began, which may be long ago. */
  foundedAt: string | null;
  /** Where this object is read. */
  url: string;
  /** When it was added to the directory. */
  createdAt: string;
  /** Moves only when a field of this object does. */
  updatedAt: string;
}

/** Where else to find it. */
export interface Links {
  /** Its own web site. */
  website: string | null;
  /** Where its members talk. */
  chat: string | null;
  /** Its channel for films and streams. */
  video: string | null;
  /** Its page on a social network. */
  social: string | null;
}

/** What is sent for `alliance.created`. */
export interface AllianceCreatedDelivery {
  /** Of the delivery; the same over all attempts. */
  id: string;
  /** The name of the event. */
  event: 'alliance.created';
  /** When the event happened. */
  createdAt: string;
  data: Alliance;
}

/** An alliance with its organisations. */
export interface AllianceDetail {
  /** Stays the same when the alliance is renamed. */
  id: string;
  /** Its name in addresses; unique, and moves when it is renamed. */
  slug: string;
  /** Its name. */
  name: string;
  /** Its short form; several may share one. */
  tag: string | null;
  /** What it says of itself, as plain text. */
  description: string | null;
  /** Its logo, a picture. */
  logoUrl: string | null;
  /** Its banner, a wide picture. */
  bannerUrl: string | null;
  links: Links;
  /** Whether it takes new organisations. */
  recruiting: boolean;
  /** Member organisations that are listed. */
  orgCount: number;
  /** Members of those organisations together. */
  memberCount: number;
  /** Disbanded: it has ended and stays for the record. */
  status: 'active' | 'disbanded';
  /** When it began, which may be long ago. */
  foundedAt: string | null;
  /** Where this object is read. */
  url: string;
  /** When it was added to the directory. */
  createdAt: string;
  /** Moves only when a field of this object does. */
  updatedAt: string;
  /** Its listed organisations, by name. */
  orgs: OrganisationReference[];
}

/** An organisation as its alliance shows it. */
export interface OrganisationReference {
  /** Its identifier. */
  id: string;
  /** Its name in addresses. */
  slug: string;
  /** Its name. */
  name: string;
  /** Its short form. */
  tag: string | null;
  /** How many members it has. */
  memberCount: number;
}

/** An alliance as its organisations show it. */
export interface AllianceReference {
  /** Its identifier. */
  id: string;
  /** Its name in addresses. */
  slug: string;
  /** Its name. */
  name: string;
  /** Its short form. */
  tag: string | null;
}

/** Somebody applied to the organisation. */
export interface Application {
  /** The platform's own id. */
  id: string;
  /** What the applicant goes by in public. */
  applicantHandle: string;
  /** When the application was sent. */
  submittedAt: string;
}

/** What is sent for `application.created`. */
export interface ApplicationCreatedDelivery {
  /** Of the delivery; the same over all attempts. */
  id: string;
  /** The name of the event. */
  event: 'application.created';
  /** When the event happened. */
  createdAt: string;
  /** Whom the event is about, and what happened. */
  data: {
    /** The organization that the event is about. */
    organizationId: string;
    organization: EventSubject;
    application: Application;
  };
}

/** Whom the event is about. */
export interface EventSubject {
  /** Its identifier. */
  id: string;
  /** Its name in addresses. */
  slug: string;
  /** Its name. */
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

/** What makes what. */
export interface Blueprint {
  /** Its identifier. */
  id: string;
  /** Its name in addresses; unique. */
  slug: string;
  /** The name that its source gives it; unique, and never changes. */
  key: string;
  /** Its name. */
  name: string;
  /** What it is, as plain text. */
  description: string | null;
  /** What sort of thing it makes. */
  category: string;
  output: BlueprintOutput;
  /** How long one run takes; null: unknown. */
  craftTimeSeconds: number | null;
  /** What one run uses up. */
  ingredients: Ingredient[];
  /** Where it is found or used. */
  sources: BlueprintSource[];
  /** The release that it was read from. */
  version: string | null;
  /** Whether its source still has it. */
  active: boolean;
  /** When its source ceased to have it. */
  retiredAt: string | null;
  /** When it was added to the directory. */
  createdAt: string;
  /** Moves only when a field of this object does. */
  updatedAt: string;
}

/** What is made. */
export interface BlueprintOutput {
  /** The key of the item. */
  item: string;
  /** The name of the item. */
  name: string;
  /** How many are made at once. */
  quantity: number;
}

/** What is used up. */
export interface Ingredient {
  /** The key of the item. */
  item: string;
  /** The name of the item. */
  name: string;
  /** How much of it is used. */
  quantity: number;
  /** What the quantity counts; null: pieces. */
  unit: string | null;
}

/** Where the blueprint is found or used. */
export interface BlueprintSource {
  /** What kind of place or reward it is. */
  kind: string;
  /** Its name. */
  name: string;
}

/** A blueprint sync that ended well. */
export interface BlueprintSyncCompleted {
  /** Of this run. */
  runId: string;
  /** Where it read from. */
  source: string;
  /** When it began. */
  startedAt: string;
  /** When it ended. */
  finishedAt: string;
  /** How long it took, in milliseconds. */
  durationMs: number;
  /** What the run did, in numbers. */
  counts: {
    /** Blueprints in the source. */
    total: number;
    /** Those that are new. */
    created: number;
    /** Those that changed. */
    updated: number;
    /** Those that the source no longer has. */
    retired: number;
    /** Those that stayed as they were. */
    unchanged: number;
    /** Those that could not be read. */
    failed: number;
  };
  /** The release that the source names. */
  version: string | null;
}

/** What is sent for `blueprint.sync.completed`. */
export interface BlueprintSyncCompletedDelivery {
  /** Of the delivery; the same over all attempts. */
  id: string;
  /** The name of the event. */
  event: 'blueprint.sync.completed';
  /** When the event happened. */
  createdAt: string;
  data: BlueprintSyncCompleted;
}

/** An event of the organisation. */
export interface CalendarEvent {
  /** The platform's own id. */
  id: string;
  /** What it is called. */
  title: string;
  /** What sort of event it is. */
  category: string | null;
  /** When it begins. */
  startsAt: string;
  /** When it ends; null: open. */
  endsAt: string | null;
  /** An IANA time zone. */
  timezone: string | null;
  /** Where it takes place. */
  location: string | null;
  /** Where to read more. */
  url: string | null;
}

/** A chat sync that ended well. */
export interface ChatSyncCompleted {
  /** Of this run. */
  runId: string;
  /** Where it read from. */
  source: string;
  /** When it began. */
  startedAt: string;
  /** When it ended. */
  finishedAt: string;
  /** How long it took, in milliseconds. */
  durationMs: number;
  /** What the run did, in numbers. */
  counts: {
    /** Listed organisations with a chat server. */
    orgs: number;
    /** Those whose count changed. */
    updated: number;
    /** Those whose count stayed. */
    unchanged: number;
    /** Those whose chat server gave no answer. */
    failed: number;
    /** Their members together. */
    members: number;
  };
  /** The release that the source names. */
  version: string | null;
}

/** What is sent for `chat.sync.completed`. */
export interface ChatSyncCompletedDelivery {
  /** Of the delivery; the same over all attempts. */
  id: string;
  /** The name of the event. */
  event: 'chat.sync.completed';
  /** When the event happened. */
  createdAt: string;
  data: ChatSyncCompleted;
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

/** Where in the stream this page ends. */
export interface CursorPagination {
  /** Entries a page. */
  limit: number;
  /** Send it as `after` to go on, now or later; null: nothing ever happened. */
  nextCursor: string | null;
  /** Whether there may be more right now. */
  hasMore: boolean;
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

/** What is sent for `event.created`. */
export interface EventCreatedDelivery {
  /** Of the delivery; the same over all attempts. */
  id: string;
  /** The name of the event. */
  event: 'event.created';
  /** When the event happened. */
  createdAt: string;
  /** Whom the event is about, and what happened. */
  data: {
    /** The organization that the event is about. */
    organizationId: string;
    organization: EventSubject;
    event: CalendarEvent;
  };
}

/** An example of an event. */
export interface EventSample {
  /** The event that was asked for. */
  event: string;
  /** What its `data` looks like; all made up. */
  data: {
    [k: string]: unknown;
  };
}

/** A maintenance that is under way. */
export interface Maintenance {
  /** What the operator says of it. */
  message: string | null;
  /** When it began. */
  since: string;
  /** When it is expected to end; null: not said. */
  expectedEnd: string | null;
}

/** A maintenance that ended. */
export interface MaintenanceDisabled {
  /** When it began. */
  since: string;
  /** When it ended. */
  endedAt: string;
}

/** A maintenance that began. */
export interface MaintenanceEnabled {
  /** What the operator says of it. */
  message: string | null;
  /** When it began. */
  since: string;
  /** When it is expected to end; null: not said. */
  expectedEnd: string | null;
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

/** What is sent for `org.created`. */
export interface OrgCreatedDelivery {
  /** Of the delivery; the same over all attempts. */
  id: string;
  /** The name of the event. */
  event: 'org.created';
  /** When the event happened. */
  createdAt: string;
  data: Organisation;
}

/** An organisation of the directory. */
export interface Organisation {
  /** Stays the same when the organisation is renamed. */
  id: string;
  /** Its name in addresses; unique, and moves when it is renamed. */
  slug: string;
  /** Its name. */
  name: string;
  /** Its short form; several may share one. */
  tag: string | null;
  /** What it says of itself, as plain text. */
  description: string | null;
  /** What it mostly does. */
  primaryActivity: string | null;
  /** What else it does. */
  secondaryActivity: string | null;
  /** How much it asks of its members. */
  commitment: string | null;
  /** Whether it takes new members. */
  recruiting: boolean;
  /** A BCP 47 language tag. */
  language: string | null;
  /** An IANA time zone. */
  timezone: string | null;
  /** Where it is, in its own words. */
  location: string | null;
  /** How many members it has. */
  memberCount: number;
  /** Its logo, a picture. */
  logoUrl: string | null;
  /** Its banner, a wide picture. */
  bannerUrl: string | null;
  links: Links;
  alliance: AllianceReference | null;
  /** Whether the directory has checked that it is what it says. */
  verified: boolean;
  /** Closed: it has ended and stays for the record. */
  status: 'active' | 'closed';
  /** When it began, which may be long ago. */
  foundedAt: string | null;
  /** Where this object is read. */
  url: string;
  /** When it was added to the directory. */
  createdAt: string;
  /** Moves only when a field of this object does. */
  updatedAt: string;
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

/** One kind of thing, and how much of it. */
export interface ResourceItem {
  /** What it is. */
  name: string;
  /** How much of it. */
  quantity: number;
  /** What the quantity counts; null: pieces. */
  unit: string | null;
}

/** Somebody in the alliance offers something. */
export interface ResourceOffer {
  /** The platform's own id. */
  id: string;
  /** The organisation that it comes from. */
  organization: string | null;
  /** What it is about. */
  title: string;
  /**
   * What it is for.
   *
   * @maxItems 200
   */
  items: ResourceItem[];
  /** Until when it can be had. */
  availableUntil: string | null;
}

/** What is sent for `resource.offer.created`. */
export interface ResourceOfferCreatedDelivery {
  /** Of the delivery; the same over all attempts. */
  id: string;
  /** The name of the event. */
  event: 'resource.offer.created';
  /** When the event happened. */
  createdAt: string;
  /** Whom the event is about, and what happened. */
  data: {
    /** The alliance that the event is about. */
    allianceId: string;
    alliance: EventSubject;
    offer: ResourceOffer;
  };
}

/** Somebody in the alliance needs something. */
export interface ResourceRequest {
  /** The platform's own id. */
  id: string;
  /** The organisation that it comes from. */
  organization: string | null;
  /** What it is about. */
  title: string;
  /**
   * What it is for.
   *
   * @maxItems 200
   */
  items: ResourceItem[];
  /** Until when it is needed. */
  deadline: string | null;
}

/** What is sent for `resource.request.created`. */
export interface ResourceRequestCreatedDelivery {
  /** Of the delivery; the same over all attempts. */
  id: string;
  /** The name of the event. */
  event: 'resource.request.created';
  /** When the event happened. */
  createdAt: string;
  /** Whom the event is about, and what happened. */
  data: {
    /** The alliance that the event is about. */
    allianceId: string;
    alliance: EventSubject;
    request: ResourceRequest;
  };
}

/** How to change over. */
export interface RotateSecretRequest {
  /** How long the old secret stays valid. */
  overlapSeconds?: number;
}

/** How the service is doing. */
export interface Status {
  /** Degraded: a component is not well; reads may answer 503. */
  status: 'ok' | 'degraded' | 'maintenance';
  /** Of the service. */
  version: string;
  /** Of the API. */
  apiVersion: string;
  /** The service's clock. */
  time: string;
  maintenance: Maintenance | null;
  components: StatusComponents;
  counts: StatusCounts;
}

/** How each part of the service is doing. */
export interface StatusComponents {
  /** Unavailable: the other figures are the last that were known. */
  database: 'ok' | 'unavailable';
  /** Delayed: the oldest due delivery has waited for more than a minute. */
  deliveries: 'ok' | 'delayed' | 'unavailable';
  blueprintSync: SyncStatus;
  chatSync: SyncStatus;
}

/** How a sync is doing. */
export interface SyncStatus {
  /** When a run last ended well; null: none has yet. */
  lastCompletedAt: string | null;
}

/** What the directory holds. */
export interface StatusCounts {
  /** Listed organisations. */
  orgs: number;
  /** Alliances. */
  alliances: number;
  /** Blueprints, active and retired. */
  blueprints: number;
}

/** What is sent for `system.maintenance.disabled`. */
export interface SystemMaintenanceDisabledDelivery {
  /** Of the delivery; the same over all attempts. */
  id: string;
  /** The name of the event. */
  event: 'system.maintenance.disabled';
  /** When the event happened. */
  createdAt: string;
  data: MaintenanceDisabled;
}

/** What is sent for `system.maintenance.enabled`. */
export interface SystemMaintenanceEnabledDelivery {
  /** Of the delivery; the same over all attempts. */
  id: string;
  /** The name of the event. */
  event: 'system.maintenance.enabled';
  /** When the event happened. */
  createdAt: string;
  data: MaintenanceEnabled;
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

/** What a test holds. */
export interface WebhookTest {
  /** Says that this is a test. */
  message: string;
  /** The webhook that is tested. */
  webhookId: string;
  sample: EventSample | null;
}

/** What is sent for `webhook.test`. */
export interface WebhookTestDelivery {
  /** Of the delivery; the same over all attempts. */
  id: string;
  /** The name of the event. */
  event: 'webhook.test';
  /** When the event happened. */
  createdAt: string;
  data: WebhookTest;
}

/** What a test is to hold. */
export interface WebhookTestRequest {
  /** An event whose sample the test is to hold. */
  event?: string | null;
}

/** What `listOrgs` can be asked for. */
export interface ListOrgsQuery {
  /** Counts from 1. A page past the last is empty. */
  page?: number;
  /** Entries a page. */
  limit?: number;
  /** Text to find in name, tag, slug and description, regardless of case and accents. Without `sort`, names that start with it come first. */
  search?: string;
  /** Only members of the alliance with this slug. */
  alliance?: string;
  /** Only those with this primary or secondary activity. */
  activity?: string;
  /** Only those with this BCP 47 language tag. */
  language?: string;
  /** Only those that are, or are not, recruiting. */
  recruiting?: boolean;
  /** What to order by; `-` reverses. Ties are ordered by id. Default: by name. */
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

/** What `listAlliances` can be asked for. */
export interface ListAlliancesQuery {
  /** Counts from 1. A page past the last is empty. */
  page?: number;
  /** Entries a page. */
  limit?: number;
  /** Text to find in name, tag, slug and description, regardless of case and accents. Without `sort`, names that start with it come first. */
  search?: string;
  /** What to order by; `-` reverses. Ties are ordered by id. Default: by name. */
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

/** What `listBlueprints` can be asked for. */
export interface ListBlueprintsQuery {
  /** Counts from 1. A page past the last is empty. */
  page?: number;
  /** Entries a page. */
  limit?: number;
  /** Text to find in name, key, output and ingredients, regardless of case and accents. Without `sort`, names that start with it come first. */
  search?: string;
  /** Only this category. */
  category?: string;
  /** Only active, or only retired ones. Without it, both. */
  active?: boolean;
  /** Only those that need this item, by its key or its name. */
  ingredient?: string;
  /** What to order by; `-` reverses. Ties are ordered by id. Default: by name. */
  sort?: 'name' | '-name' | 'createdAt' | '-createdAt' | 'updatedAt' | '-updatedAt';
}

/** What `listEvents` can be asked for. */
export interface ListEventsQuery {
  /** The `nextCursor` of an earlier answer. Without it, from the oldest that is kept. */
  after?: string;
  /** Entries a page. */
  limit?: number;
  /** Only this event. */
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

/** What a webhook is sent: `event` says which, and with it what `data` holds. New events may appear. */
export type WebhookEvent =
  | OrgCreatedDelivery
  | AllianceCreatedDelivery
  | BlueprintSyncCompletedDelivery
  | ChatSyncCompletedDelivery
  | SystemMaintenanceEnabledDelivery
  | SystemMaintenanceDisabledDelivery
  | ApplicationCreatedDelivery
  | EventCreatedDelivery
  | ResourceRequestCreatedDelivery
  | ResourceOfferCreatedDelivery
  | WebhookTestDelivery;

/** The name of an event. */
export type EventName = WebhookEvent['event'];
