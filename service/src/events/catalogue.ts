/**
 * Declares every event once: its name, who may get it, and the contents of its `data`. The OpenAPI section, the types,
 * the check at publishing and the samples all come from here.
 */
import { Type, type TSchema } from 'typebox';
import { Alliance } from '../contract/alliance.ts';
import { exampleId, exampleLaterTime, examples, exampleTime } from '../contract/examples.ts';
import { Organisation } from '../contract/organisation.ts';
import { nullable, slug, strictObject, time, uuid, webAddress } from '../contract/shapes.ts';

type Audience = 'global' | 'organization' | 'alliance' | 'webhook';
/**
 * `bound`: a publisher supplies the field `inner` of the data, and the service adds the subject. `rendered`: the
 * service makes all of the data.
 */
type Entry = {
  audience: Audience;
  description: string;
  data: TSchema;
  sample: unknown;
  inner: string | null;
};

const subjectFields = {
  id: uuid(),
  slug: slug({ description: 'Its name in addresses.' }),
  name: Type.String({ description: 'Its name.' }),
};
const Subject = strictObject(subjectFields, {
  title: 'EventSubject',
  description: 'Whom the event is about.',
});

const label = (description: string) => Type.String({ minLength: 1, maxLength: 200, description });
const publicId = Type.String({
  minLength: 1,
  maxLength: 100,
  description: "The platform's own id.",
  examples: ['a-1042'],
});

const Application = strictObject(
  {
    id: publicId,
    applicantHandle: label('What the applicant goes by in public.'),
    submittedAt: time({ description: 'When the application was sent.' }),
  },
  { title: 'Application', description: 'Somebody applied to the organisation.' },
);
const CalendarEvent = strictObject(
  {
    id: publicId,
    title: label('What it is called.'),
    category: nullable(label('What sort of event it is.')),
    startsAt: time({ description: 'When it begins.' }),
    endsAt: nullable(time({ description: 'When it ends; null: open.' })),
    timezone: nullable(Type.String({ maxLength: 64, description: 'An IANA time zone.' })),
    location: nullable(label('Where it takes place.')),
    url: nullable(webAddress({ description: 'Where to read more.' })),
  },
  { title: 'CalendarEvent', description: 'An event of the organisation.' },
);
const ResourceItem = strictObject(
  {
    name: label('What it is.'),
    quantity: Type.Number({ minimum: 0, maximum: 1e12, description: 'How much of it.' }),
    unit: nullable(
      Type.String({ maxLength: 40, description: 'What the quantity counts; null: pieces.' }),
    ),
  },
  { title: 'ResourceItem', description: 'One kind of thing, and how much of it.' },
);
const resource = {
  id: publicId,
  organization: nullable(label('The organisation that it comes from.')),
  title: label('What it is about.'),
  items: Type.Array(ResourceItem, { maxItems: 200, description: 'What it is for.' }),
};
const ResourceRequest = strictObject(
  { ...resource, deadline: nullable(time({ description: 'Until when it is needed.' })) },
  { title: 'ResourceRequest', description: 'Somebody in the alliance needs something.' },
);
const ResourceOffer = strictObject(
  { ...resource, availableUntil: nullable(time({ description: 'Until when it can be had.' })) },
  { title: 'ResourceOffer', description: 'Somebody in the alliance offers something.' },
);

const count = (description: string) => Type.Integer({ minimum: 0, description });
const run = {
  runId: uuid({ description: 'Of this run.' }),
  source: Type.String({ description: 'Where it read from.' }),
  startedAt: time({ description: 'When it began.' }),
  finishedAt: time({ description: 'When it ended.' }),
  durationMs: count('How long it took, in milliseconds.'),
};
const syncVersion = nullable(Type.String({ description: 'The release that the source names.' }));
const BlueprintSync = strictObject(
  {
    ...run,
    counts: strictObject(
      {
        total: count('Blueprints in the source.'),
        created: count('Those that are new.'),
        updated: count('Those that changed.'),
        retired: count('Those that the source no longer has.'),
        unchanged: count('Those that stayed as they were.'),
        failed: count('Those that could not be read.'),
      },
      { description: 'What the run did, in numbers.' },
    ),
    version: syncVersion,
  },
  { title: 'BlueprintSyncCompleted', description: 'A blueprint sync that ended well.' },
);
const ChatSync = strictObject(
  {
    ...run,
    counts: strictObject(
      {
        orgs: count('Listed organisations with a chat server.'),
        updated: count('Those whose count changed.'),
        unchanged: count('Those whose count stayed.'),
        failed: count('Those whose chat server gave no answer.'),
        members: count('Their members together.'),
      },
      { description: 'What the run did, in numbers.' },
    ),
    version: syncVersion,
  },
  { title: 'ChatSyncCompleted', description: 'A chat sync that ended well.' },
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

/** An event of an organisation or alliance: the publisher's data with the subject's ids and names. */
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
    data: strictObject(
      {
        [idName]: uuid({ description: `The ${audience} that the event is about.` }),
        [audience]: Subject,
        [inner]: schema,
      },
      { description: 'Whom the event is about, and what happened.' },
    ),
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
      {
        message: nullable(Type.String({ description: 'What the operator says of it.' })),
        since: time({ description: 'When it began.' }),
        expectedEnd: nullable(time({ description: 'When it is expected to end; null: not said.' })),
      },
      { title: 'MaintenanceEnabled', description: 'A maintenance that began.' },
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
    data: strictObject(
      {
        since: time({ description: 'When it began.' }),
        endedAt: time({ description: 'When it ended.' }),
      },
      { title: 'MaintenanceDisabled', description: 'A maintenance that ended.' },
    ),
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
        message: Type.String({ description: 'Says that this is a test.' }),
        webhookId: uuid({ description: 'The webhook that is tested.' }),
        sample: nullable(
          strictObject(
            {
              event: Type.String({ description: 'The event that was asked for.' }),
              data: Type.Unknown({ description: 'What its `data` looks like; all made up.' }),
            },
            { title: 'EventSample', description: 'An example of an event.' },
          ),
        ),
      },
      { title: 'WebhookTest', description: 'What a test holds.' },
    ),
    sample: { message: 'This is a test. Your webhook works.', webhookId: exampleId, sample: null },
  }),
} satisfies Record<string, Entry>;

export type EventName = keyof typeof catalogue;

/** The names that a webhook can ask for: all except the test. */
export const subscribableEvents = (Object.keys(catalogue) as EventName[]).filter(
  (name) => name !== 'webhook.test',
);

/** The events that a platform may publish. The service makes the others when what they report happens. */
export const publishableEvents = subscribableEvents.filter(
  (name) => catalogue[name].inner !== null || name === 'org.created' || name === 'alliance.created',
);

/** Returns an event's entry, or undefined for an unknown name. */
export function catalogueEntry(name: string): Entry | undefined {
  return Object.hasOwn(catalogue, name) ? catalogue[name as EventName] : undefined;
}
