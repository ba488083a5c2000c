/** An example of each API object, for openapi.json and for sample events. */
import type { Alliance, AllianceDetail } from './alliance.ts';
import type { Blueprint } from './blueprint.ts';
import type { ManagedAlliance, ManagedAllianceDetail, ManagedOrganisation } from './managed.ts';
import type { Organisation } from './organisation.ts';
import type { Explanation } from './explanation.ts';
import type { Status } from './status.ts';
import type { SyncRun } from './sync-run.ts';
import type { CreatedWebhook, Delivery, DeliveryDetail, Webhook } from './webhook.ts';

export const exampleTime = '2026-11-20T12:00:00.000Z';
export const exampleLaterTime = '2026-11-20T14:00:00.000Z';
export const exampleId = '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f';
const links = { website: 'https://example.org', chat: null, video: null, social: null };
const times = { createdAt: exampleTime, updatedAt: exampleTime };

const alliance: Alliance = {
  id: exampleId,
  slug: 'northern-league',
  name: 'Northern League',
  tag: 'NL',
  aliases: [],
  description: null,
  logoUrl: null,
  bannerUrl: null,
  links,
  recruiting: true,
  orgCount: 1,
  memberCount: 42,
  status: 'active',
  foundedAt: null,
  url: 'https://directory.example.org/api/v1/alliances/northern-league',
  ...times,
};

const organisation: Organisation = {
  id: exampleId,
  slug: 'acme-corporation',
  name: 'Acme Corporation',
  tag: 'ACME',
  aliases: ['Acme Industries'],
  description: 'Makers of everything.',
  primaryActivity: 'technology',
  secondaryActivity: null,
  commitment: null,
  recruiting: true,
  language: 'en',
  timezone: 'Europe/Berlin',
  location: 'Germany',
  memberCount: 42,
  logoUrl: null,
  bannerUrl: null,
  links,
  alliance: { id: exampleId, slug: 'northern-league', name: 'Northern League', tag: 'NL' },
  verified: true,
  status: 'active',
  foundedAt: null,
  url: 'https://directory.example.org/api/v1/orgs/acme-corporation',
  ...times,
};

const allianceDetail: AllianceDetail = {
  ...alliance,
  orgs: [
    {
      id: exampleId,
      slug: 'acme-corporation',
      name: 'Acme Corporation',
      tag: 'ACME',
      memberCount: 42,
    },
  ],
};

const managedOrganisation: ManagedOrganisation = {
  ...organisation,
  listed: true,
  contactEmail: 'ada@example.org',
  chatServerId: '81384788765712384',
  notes: null,
  managers: ['ada@example.org'],
};

const managedAlliance: ManagedAlliance = { ...alliance, managers: ['ada@example.org'] };

const managedAllianceDetail: ManagedAllianceDetail = {
  ...managedAlliance,
  orgs: allianceDetail.orgs.map((org) => ({ ...org, listed: true })),
};

const orgInput = {
  name: 'Acme Corporation',
  tag: 'ACME',
  primaryActivity: 'technology',
  language: 'en',
  memberCount: 42,
  alliance: 'northern-league',
  contactEmail: 'ada@example.org',
};
const allianceInput = {
  name: 'Northern League',
  tag: 'NL',
  recruiting: true,
  orgs: ['acme-corporation'],
};
const blueprintInput = {
  name: 'Granite',
  category: 'materials',
  output: { item: 'granite', name: 'Granite', quantity: 1 },
  ingredients: [{ item: 'diorite', name: 'Diorite', quantity: 1 }],
  version: '1.21.4',
};

const blueprint: Blueprint = {
  id: exampleId,
  slug: 'granite',
  key: 'granite',
  name: 'Granite',
  description: null,
  category: 'materials',
  output: { item: 'granite', name: 'Granite', quantity: 1 },
  craftTimeSeconds: null,
  ingredients: [
    { item: 'diorite', name: 'Diorite', quantity: 1, unit: null },
    { item: 'quartz', name: 'Nether Quartz', quantity: 1, unit: null },
  ],
  sources: [],
  version: '1.21.4',
  active: true,
  retiredAt: null,
  ...times,
};

const status: Status = {
  status: 'ok',
  version: '1.0.0',
  apiVersion: 'v1',
  time: exampleTime,
  maintenance: null,
  announcements: [],
  components: {
    database: 'ok',
    deliveries: 'ok',
    blueprintSync: { lastCompletedAt: null },
    chatSync: { lastCompletedAt: null },
  },
  counts: { orgs: 300, alliances: 30, blueprints: 803 },
};

const webhook: Webhook = {
  id: exampleId,
  url: 'https://example.org/hooks',
  format: 'json',
  description: 'Announces new organisations',
  events: ['org.created'],
  active: true,
  health: 'healthy',
  deactivatedAt: null,
  deactivatedReason: null,
  suspendedAt: null,
  suspendedReason: null,
  selfHealing: true,
  replayAfterHealing: false,
  lastSuccessAt: exampleTime,
  lastFailureAt: null,
  exhaustedInARow: 0,
  nextProbeAt: null,
  previousSecretExpiresAt: null,
  headerNames: ['Authorization'],
  ...times,
};

const createdWebhook: CreatedWebhook = {
  ...webhook,
  health: 'new',
  lastSuccessAt: null,
  secret: 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=',
};

const deliveryRecord: Delivery = {
  id: exampleId,
  webhookId: exampleId,
  event: 'webhook.test',
  eventId: exampleId,
  status: 'succeeded',
  attemptCount: 1,
  nextAttemptAt: null,
  createdAt: exampleTime,
  completedAt: exampleTime,
};

const delivery: DeliveryDetail = {
  ...deliveryRecord,
  body: `{"id":"${exampleId}","event":"webhook.test","createdAt":"${exampleTime}","data":{"message":"This is a test. Your webhook works.","webhookId":"${exampleId}","sample":null}}`,
  attempts: [
    {
      number: 1,
      trigger: 'test',
      startedAt: exampleTime,
      durationMs: 48,
      statusCode: 200,
      error: null,
      errorCause: null,
      responseHeaders: { 'content-type': 'text/plain' },
      responseBody: 'ok',
    },
  ],
};

const explanation: Explanation = {
  webhookId: exampleId,
  result: 'not_sent',
  message:
    'The webhook was deactivated or suspended. Once it is active again, replay what it missed.',
  at: exampleTime,
  event: { id: exampleId, name: 'org.created', createdAt: exampleTime },
  checks: { bound: null, listed: true, existed: true, active: false, subscribed: true },
  unknown: [],
  delivery: null,
  nearby: [],
};

const syncRun: SyncRun = {
  id: exampleId,
  kind: 'blueprints',
  source: 'https://example.org/blueprints.ndjson',
  trigger: 'api',
  status: 'running',
  startedAt: exampleTime,
  finishedAt: null,
  durationMs: null,
  counts: null,
  version: null,
  reason: null,
  message: null,
  problems: [],
};

export const examples = {
  alliance,
  allianceDetail,
  organisation,
  managedAlliance,
  managedAllianceDetail,
  managedOrganisation,
  orgInput,
  allianceInput,
  blueprintInput,
  blueprint,
  status,
  syncRun,
  webhook,
  createdWebhook,
  deliveryRecord,
  delivery,
  explanation,
};
