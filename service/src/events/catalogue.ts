/**
 * Every event once: its name, who may get it, and what its `data` holds. The OpenAPI section, the types,
 * the check at publishing and the samples all come from here.
 */
import { Type, type TSchema } from 'typebox';
import { Alliance } from '../contract/alliance.ts';
import { exampleId, exampleLaterTime, examples, exampleTime } from '../contract/examples.ts';
import { Organisation } from '../contract/organisation.ts';
import { nullable, slug, strictObject, time, uuid, webAddress } from '../contract/shapes.ts';

export type Audience = 'global' | 'organization' | 'alliance' | 'webhook';
/** `bound`: a publisher supplies the field `inner` of the data, the service adds the subject. `rendered`: the service makes it all. */
type Entry = {
  audience: Audience;
  description: string;
  data: TSchema;
  sample: unknown;
  inner: string | null;
};

const subjectFields = { id: uuid(), slug: slug(), name: Type.String() };
const Subject = strictObject(subjectFields, {
  title: 'EventSubject',
  description: 'Whom the event is about.',
});

const label = Type.String({ minLength: 1, maxLength: 200 });
const publicId = Type.String({
  minLength: 1,
  maxLength: 100,
  description: "The platform's own id.",
  examples: ['a-1042'],
});

const Application = strictObject(
  { id: publicId, applicantHandle: label, submittedAt: time() },
  { title: 'Application', description: 'Somebody applied to the organisation.' },
);
const CalendarEvent = strictObject(
  {
    id: publicId,
    title: label,
    category: nullable(label),
    startsAt: time(),
    endsAt: nullable(time()),
    timezone: nullable(Type.String({ maxLength: 64 })),
    location: nullable(label),
    url: nullable(webAddress()),
  },
  { title: 'CalendarEvent', description: 'An event of the organisation.' },
);
const ResourceItem = strictObject(
  {
    name: label,
    quantity: Type.Number({ minimum: 0, maximum: 1e12 }),
    unit: nullable(Type.String({ maxLength: 40 })),
  },
  { title: 'ResourceItem' },
);
const resource = {
  id: publicId,
  organization: nullable(label),
  title: label,
  items: Type.Array(ResourceItem, { maxItems: 200 }),
};
const ResourceRequest = strictObject(
  { ...resource, deadline: nullable(time()) },
  { title: 'ResourceRequest', description: 'Somebody in the alliance needs something.' },
);
const ResourceOffer = strictObject(
  { ...resource, availableUntil: nullable(time()) },
  { title: 'ResourceOffer', description: 'Somebody in the alliance offers something.' },
);

const count = Type.Integer({ minimum: 0 });
const run = {
  runId: uuid(),
  source: Type.String(),
  startedAt: time(),
  finishedAt: time(),
  durationMs: count,
};
const BlueprintSync = strictObject(
  {
    ...run,
    counts: strictObject({
      total: count,
      created: count,
      updated: count,
      retired: count,
      unchanged: count,
      failed: count,
    }),
    version: nullable(Type.String()),
  },
  { title: 'BlueprintSyncCompleted' },
);
const ChatSync = strictObject(
  {
    ...run,
    counts: strictObject({
      orgs: count,
      updated: count,
      unchanged: count,
      failed: count,
      members: count,
    }),
    version: nullable(Type.String()),
  },
  { title: 'ChatSyncCompleted' },
);

const sampleSubject = { id: exampleId, slug: 'acme-corporation', name: 'Acme Corporation' };
const sampleAlliance = { id: exampleId, slug: 'northern-league', name: 'Northern League' };
const sampleRun = {
  runId: exampleId,
  source: 'blueprints.ndjson',
  startedAt: exampleTime,
  finishedAt: exampleLaterTime,
  durationMs: 7_200_000,
};
const sampleResource = {
  id: 'r-17',
  organization: 'Acme Corporation',
  title: 'Iron for the new hall',
  items: [{ name: 'Iron Ingot', quantity: 640, unit: null }],
};
function entry(fields: Entry): Entry {
  return fields;
}

/** An event of an organisation or alliance: the ids and names around what the publisher supplies. */
function bound(
  audience: 'organization' | 'alliance',
  inner: string,
  schema: TSchema,
  description: string,
  innerSample: unknown,
): Entry {
  const idName = audience === 'organization' ? 'organizationId' : 'allianceId';
  const subject = audience === 'organization' ? sampleSubject : sampleAlliance;
  return entry({
    audience,
    description,
    inner,
    data: strictObject({ [idName]: uuid(), [audience]: Subject, [inner]: schema }),
    sample: { [idName]: subject.id, [audience]: subject, [inner]: innerSample },
  });
}

const rendered = { audience: 'global', inner: null } as const;

export const catalogue = {
  'org.created': entry({
    ...rendered,
    data: Organisation,
    sample: examples.organisation,
    description: 'An organisation can be seen in the directory for the first time.',
  }),
  'alliance.created': entry({
    ...rendered,
    data: Alliance,
    sample: examples.alliance,
    description: 'An alliance was added to the directory.',
  }),
  'blueprint.sync.completed': entry({
    ...rendered,
    data: BlueprintSync,
    description: 'The blueprints were brought up to date with their source.',
    sample: {
      ...sampleRun,
      counts: { total: 803, created: 3, updated: 20, retired: 1, unchanged: 780, failed: 0 },
      version: '1.21.4',
    },
  }),
  'chat.sync.completed': entry({
    ...rendered,
    data: ChatSync,
    description: 'Member counts were refreshed from the chat servers.',
    sample: {
      ...sampleRun,
      source: 'discord',
      counts: { orgs: 120, updated: 40, unchanged: 79, failed: 1, members: 5230 },
      version: null,
    },
  }),
  'system.maintenance.enabled': entry({
    ...rendered,
    description: 'Maintenance has begun; the API answers 503 until it ends.',
    data: strictObject(
      { message: nullable(Type.String()), since: time(), expectedEnd: nullable(time()) },
      { title: 'MaintenanceEnabled' },
    ),
    sample: {
      message: 'Moving to a larger machine.',
      since: exampleTime,
      expectedEnd: exampleLaterTime,
    },
  }),
  'system.maintenance.disabled': entry({
    ...rendered,
    description: 'Maintenance has ended.',
    data: strictObject({ since: time(), endedAt: time() }, { title: 'MaintenanceDisabled' }),
    sample: { since: exampleTime, endedAt: exampleLaterTime },
  }),
  'application.created': bound(
    'organization',
    'application',
    Application,
    'Somebody applied to join the organisation.',
    { id: 'a-1042', applicantHandle: 'wanderer', submittedAt: exampleTime },
  ),
  'event.created': bound(
    'organization',
    'event',
    CalendarEvent,
    'The organisation announced an event.',
    {
      id: 'e-7',
      title: 'Open evening',
      category: 'meeting',
      startsAt: exampleTime,
      endsAt: exampleLaterTime,
      timezone: 'Europe/Berlin',
      location: 'Main hall',
      url: null,
    },
  ),
  'resource.request.created': bound(
    'alliance',
    'request',
    ResourceRequest,
    'An organisation of the alliance asks for resources.',
    { ...sampleResource, deadline: exampleLaterTime },
  ),
  'resource.offer.created': bound(
    'alliance',
    'offer',
    ResourceOffer,
    'An organisation of the alliance offers resources.',
    { ...sampleResource, availableUntil: exampleLaterTime },
  ),
  'webhook.test': entry({
    audience: 'webhook',
    inner: null,
    description: 'A test that the owner of the webhook asked for.',
    data: strictObject(
      {
        message: Type.String(),
        webhookId: uuid(),
        sample: nullable(
          strictObject({ event: Type.String(), data: Type.Unknown() }, { title: 'EventSample' }),
        ),
      },
      { title: 'WebhookTest' },
    ),
    sample: { message: 'This is a test. Your webhook works.', webhookId: exampleId, sample: null },
  }),
} satisfies Record<string, Entry>;

export type EventName = keyof typeof catalogue;

/** The names that a webhook can ask for: all but the test. */
export const subscribableEvents = (Object.keys(catalogue) as EventName[]).filter(
  (name) => name !== 'webhook.test',
);

/** The entry of an event, or undefined where there is no such event. */
export function catalogueEntry(name: string): Entry | undefined {
  return Object.hasOwn(catalogue, name) ? catalogue[name as EventName] : undefined;
}
