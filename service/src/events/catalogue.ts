/**
 * Declares every event: its name, who can receive it, and its `data`. The OpenAPI section, the types, the check at
 * publishing and the samples come from here.
 */
import { type TSchema, Type } from 'typebox';
import { Alliance } from '../contract/alliance.ts';
import { Blueprint } from '../contract/blueprint.ts';
import { exampleId, exampleLaterTime, exampleTime, examples } from '../contract/examples.ts';
import { Organisation } from '../contract/organisation.ts';
import { nullable, slug, strictObject, time, uuid, webAddress } from '../contract/shapes.ts';
import { type Validator, createValidator } from '../contract/validate.ts';

type Audience = 'global' | 'organization' | 'alliance' | 'webhook';
/**
 * `bound`: the publisher supplies the field `inner` of the data, and the service adds the subject. `rendered`: the
 * service creates all of the data. `optIn`: goes only to webhooks that name it, and `GET /events` does not list it.
 */
type Entry = {
  audience: Audience;
  optIn?: true;
  description: string;
  data: TSchema;
  sample: unknown;
  inner: string | null;
};

const subjectFields = {
  id: uuid(),
  slug: slug({ description: 'The unique name in URLs.' }),
  name: Type.String({ description: 'The name.' }),
};
const Subject = strictObject(subjectFields, {
  title: 'EventSubject',
  description: 'The organisation or alliance that the event is about.',
});

const label = (description: string) => Type.String({ minLength: 1, maxLength: 200, description });
const publicId = Type.String({
  minLength: 1,
  maxLength: 100,
  description: "The platform's id.",
  examples: ['a-1042'],
});

const Application = strictObject(
  {
    id: publicId,
    applicantHandle: label('The public name of the applicant.'),
    submittedAt: time({ description: 'When the application was submitted.' }),
  },
  { title: 'Application', description: 'An application to join an organisation.' },
);
const CalendarEvent = strictObject(
  {
    id: publicId,
    title: label('The title of the event.'),
    category: nullable(label('The category of the event.')),
    startsAt: time({ description: 'When the event starts.' }),
    endsAt: nullable(time({ description: 'When the event ends. Null if it is open-ended.' })),
    timezone: nullable(Type.String({ maxLength: 64, description: 'An IANA time zone.' })),
    location: nullable(label('The location of the event.')),
    url: nullable(webAddress({ description: 'A page with more information.' })),
  },
  { title: 'CalendarEvent', description: 'An event of an organisation.' },
);
const ResourceItem = strictObject(
  {
    name: label('The name of the item.'),
    quantity: Type.Number({ minimum: 0, maximum: 1e12, description: 'The quantity.' }),
    unit: nullable(
      Type.String({ maxLength: 40, description: 'The unit of the quantity. Null means pieces.' }),
    ),
  },
  { title: 'ResourceItem', description: 'An item and its quantity.' },
);
const resource = {
  id: publicId,
  organization: nullable(label('The organisation that it comes from.')),
  title: label('A short summary.'),
  items: Type.Array(ResourceItem, { maxItems: 200, description: 'The items.' }),
};
const ResourceRequest = strictObject(
  { ...resource, deadline: nullable(time({ description: 'When the resources are needed by.' })) },
  { title: 'ResourceRequest', description: 'A request for resources in an alliance.' },
);
const ResourceOffer = strictObject(
  { ...resource, availableUntil: nullable(time({ description: 'When the offer ends.' })) },
  { title: 'ResourceOffer', description: 'An offer of resources in an alliance.' },
);

const count = (description: string) => Type.Integer({ minimum: 0, description });
const run = {
  runId: uuid({ description: 'The id of the run.' }),
  source: Type.String({ description: 'The source of the data.' }),
  startedAt: time({ description: 'When the run started.' }),
  finishedAt: time({ description: 'When the run ended.' }),
  durationMs: count('The duration of the run in milliseconds.'),
};
const syncVersion = nullable(Type.String({ description: 'The release of the source.' }));
const BlueprintSync = strictObject(
  {
    ...run,
    counts: strictObject(
      {
        total: count('The number of blueprints in the source.'),
        created: count('The number of new blueprints.'),
        updated: count('The number of changed blueprints.'),
        retired: count('The number of blueprints that the source no longer has.'),
        unchanged: count('The number of unchanged blueprints.'),
        failed: count('The number of blueprints that could not be read.'),
      },
      { description: 'The counts of the run.' },
    ),
    version: syncVersion,
  },
  { title: 'BlueprintSyncCompleted', description: 'A blueprint sync that succeeded.' },
);
const ChatSync = strictObject(
  {
    ...run,
    counts: strictObject(
      {
        orgs: count('The number of listed organisations with a chat server.'),
        updated: count('The number of organisations whose member count changed.'),
        unchanged: count('The number of organisations whose member count is unchanged.'),
        failed: count('The number of organisations whose chat server did not respond.'),
        members: count('The total number of their members.'),
      },
      { description: 'The counts of the run.' },
    ),
    version: syncVersion,
  },
  { title: 'ChatSyncCompleted', description: 'A chat sync that succeeded.' },
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
      { description: 'The organisation or alliance, and the event.' },
    ),
    sample: { [idName]: subject.id, [audience]: subject, [inner]: innerSample },
  });
}

const rendered = { audience: 'global', inner: null } as const;

const RemovedEntry = strictObject(
  { id: uuid({ description: 'The id of the entry.' }) },
  { title: 'RemovedEntry', description: 'An entry that is not public any more.' },
);

/** An opt-in event of an entry that the public sees differently. */
function updated(data: TSchema, sample: unknown, description: string): Entry {
  return entry({
    ...rendered,
    optIn: true,
    data,
    sample,
    description: `${description} ${optInRule}`,
  });
}

function removed(description: string): Entry {
  return updated(RemovedEntry, { id: exampleId }, description);
}

const optInRule = 'Opt-in: it is sent only to webhooks that name it.';

export const catalogue = {
  'org.created': entry({
    ...rendered,
    data: Organisation,
    sample: examples.organisation,
    description: 'An organisation is listed for the first time.',
  }),
  'alliance.created': entry({
    ...rendered,
    data: Alliance,
    sample: examples.alliance,
    description: 'An alliance was added to the directory.',
  }),
  'org.updated': updated(
    Organisation,
    examples.organisation,
    'A public field of an organisation has changed, or it is listed.',
  ),
  'org.removed': removed('An organisation was deleted, or is not listed any more.'),
  'alliance.updated': updated(
    Alliance,
    examples.alliance,
    'A field of an alliance has changed, or it was added.',
  ),
  'alliance.removed': removed('An alliance was deleted.'),
  'blueprint.updated': updated(
    Blueprint,
    examples.blueprint,
    'A field of a blueprint has changed, or it was added.',
  ),
  'blueprint.removed': removed('A blueprint was deleted.'),
  'blueprint.sync.completed': entry({
    ...rendered,
    data: BlueprintSync,
    description: 'A blueprint sync succeeded.',
    sample: {
      ...sampleRun,
      counts: { total: 803, created: 3, updated: 20, retired: 1, unchanged: 780, failed: 0 },
      version: '1.21.4',
    },
  }),
  'chat.sync.completed': entry({
    ...rendered,
    data: ChatSync,
    description: 'A sync of member counts from chat servers succeeded.',
    sample: {
      ...sampleRun,
      source: 'discord',
      counts: { orgs: 120, updated: 40, unchanged: 79, failed: 1, members: 5230 },
      version: null,
    },
  }),
  'system.maintenance.enabled': entry({
    ...rendered,
    description: 'Maintenance has begun. The API returns 503 until it ends.',
    data: strictObject(
      {
        message: nullable(Type.String({ description: 'A message from the operator.' })),
        since: time({ description: 'When the maintenance began.' }),
        expectedEnd: nullable(
          time({ description: 'When the maintenance is expected to end. Null if unknown.' }),
        ),
      },
      { title: 'MaintenanceEnabled', description: 'A maintenance that has begun.' },
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
        since: time({ description: 'When the maintenance began.' }),
        endedAt: time({ description: 'When the maintenance ended.' }),
      },
      { title: 'MaintenanceDisabled', description: 'A maintenance that has ended.' },
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
    'An organisation of the alliance requests resources.',
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
    description: 'The owner of the webhook sent a test.',
    data: strictObject(
      {
        message: Type.String({ description: 'A message that says that this is a test.' }),
        webhookId: uuid({ description: 'The webhook that is tested.' }),
        sample: nullable(
          strictObject(
            {
              event: Type.String({ description: 'The name of the requested event.' }),
              data: Type.Unknown({ description: 'An example of its `data`.' }),
            },
            { title: 'EventSample', description: 'An example of an event.' },
          ),
        ),
      },
      { title: 'WebhookTest', description: 'The data of a test.' },
    ),
    sample: { message: 'This is a test. Your webhook works.', webhookId: exampleId, sample: null },
  }),
  'webhook.probe': entry({
    audience: 'webhook',
    inner: null,
    description:
      'The service checks whether a webhook that was deactivated as failing responds again.',
    data: strictObject({}, { title: 'WebhookProbe', description: 'Empty.' }),
    sample: {},
  }),
} satisfies Record<string, Entry>;

export type EventName = keyof typeof catalogue;

/** The names that a webhook can ask for: all except tests and probes. */
export const subscribableEvents = (Object.keys(catalogue) as EventName[]).filter(
  (name) => catalogue[name].audience !== 'webhook',
);

/** The names that a webhook must ask for. */
export const optInEvents = subscribableEvents.filter((name) => catalogueEntry(name)?.optIn);

/** The names that `GET /events` lists. */
export const listedEvents = subscribableEvents.filter((name) => !optInEvents.includes(name));

const quoted = (names: EventName[]) => names.map((name) => `\`${name}\``).join(', ');

/** For descriptions: v1 may get more events, so no schema of a response closes the list. */
export const listedNames = `Events today: ${quoted(listedEvents)}. More may be added.`;
export const eventNames = `Events today: ${quoted(listedEvents)}; opt-in: ${quoted(optInEvents)}. More may be added.`;

/** The events that a platform may publish. The service publishes the others itself. */
export const publishableEvents = subscribableEvents.filter(
  (name) => catalogue[name].inner !== null || name === 'org.created' || name === 'alliance.created',
);

/** The events of one organisation or alliance, which its slug finds. */
export const subjectEvents = [...publishableEvents, 'org.updated', 'alliance.updated'] as const;

/** Returns an event's entry, or undefined for an unknown name. */
export function catalogueEntry(name: string): Entry | undefined {
  return Object.hasOwn(catalogue, name) ? catalogue[name as EventName] : undefined;
}

/** Checks the data that a publisher supplies for an event, its inner object, against the catalogue. */
export function checkInner(name: EventName, data: unknown): ReturnType<Validator<unknown>> {
  const { inner, data: schema } = catalogue[name];
  const { properties } = schema as unknown as { properties: Record<string, TSchema> };
  const innerSchema = inner === null ? undefined : properties[inner];
  if (!innerSchema) throw new Error(`nobody supplies anything of ${name}`);
  return createValidator(innerSchema)(data, 'data');
}
