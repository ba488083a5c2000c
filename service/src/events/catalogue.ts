/**
 * Declares every event: its name, who can receive it, and its `data`. The OpenAPI section, the types, the check at
 * publishing and the samples come from here.
 */
import { type Static, type TSchema, Type } from 'typebox';
import { Alliance } from '../contract/alliance.ts';
import { Blueprint } from '../contract/blueprint.ts';
import { exampleId, exampleLaterTime, exampleTime, examples } from '../contract/examples.ts';
import { Organisation } from '../contract/organisation.ts';
import { nullable, slug, strictObject, time, uuid, webAddress } from '../contract/shapes.ts';
import { type Validator, createValidator } from '../contract/validate.ts';
import { type Message, type Template, message, timeText } from './message.ts';

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
  /** What a chat channel shows, by template version: the first is that of version 1, and the last one stays in use. */
  templates: [Template<never>, ...Template<never>[]];
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
function entry<Data extends TSchema>(
  fields: Omit<Entry, 'templates'> & {
    data: Data;
    templates: [Template<Static<Data>>, ...Template<Static<Data>>[]];
  },
): Entry {
  return fields;
}

/** An event of an organisation or alliance: the publisher's data with the subject's ids and names. */
function bound<Inner extends TSchema>(
  audience: 'organization' | 'alliance',
  inner: string,
  schema: Inner,
  description: string,
  innerSample: unknown,
  template: (inner: Static<Inner>, subject: Static<typeof Subject>) => Message,
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
    templates: [
      (data: Record<string, unknown>) =>
        template(data[inner] as Static<Inner>, data[audience] as Static<typeof Subject>),
    ],
  });
}

const rendered = { audience: 'global', inner: null } as const;

const RemovedEntry = strictObject(
  { id: uuid({ description: 'The id of the entry.' }) },
  { title: 'RemovedEntry', description: 'An entry that is not public any more.' },
);

/** An opt-in event of an entry that the public sees differently. */
function updated<Data extends TSchema>(
  data: Data,
  sample: unknown,
  description: string,
  template: Template<Static<Data>>,
): Entry {
  return entry({
    ...rendered,
    templates: [template],
    optIn: true,
    data,
    sample,
    description: `${description} ${optInRule}`,
  });
}

function removed(noun: string, description: string): Entry {
  return updated(RemovedEntry, { id: exampleId }, description, ({ id }) =>
    message({ title: `${noun} is not public any more`, color: 'bad' }, { Id: id }),
  );
}

/** The fields of an organisation in a message. */
const orgMessage =
  (what: string, color: Message['color']): Template<Organisation> =>
  (org) =>
    message(
      { title: `${org.name} ${what}`, text: org.description, color },
      {
        Tag: org.tag,
        Alliance: org.alliance?.name,
        Activity: org.primaryActivity,
        Members: org.memberCount,
        Language: org.language,
        Location: org.location,
      },
      org.links?.website,
    );

const allianceMessage =
  (what: string, color: Message['color']): Template<Alliance> =>
  (alliance) =>
    message(
      { title: `${alliance.name} ${what}`, text: alliance.description, color },
      { Tag: alliance.tag, Organisations: alliance.orgCount, Members: alliance.memberCount },
      alliance.links?.website,
    );

const resourceMessage = (
  title: string,
  { organization, items }: Static<typeof ResourceRequest> | Static<typeof ResourceOffer>,
  until: Record<string, string | null>,
): Message =>
  message(
    {
      title,
      text: items
        .map(({ name, quantity, unit }) => `${quantity}${unit ? ` ${unit}` : ''} ${name}`)
        .join('\n'),
      color: 'info',
    },
    { From: organization, ...until },
  );

const optInRule = 'Opt-in: it is sent only to webhooks that name it.';

export const catalogue = {
  'org.created': entry({
    ...rendered,
    data: Organisation,
    sample: examples.organisation,
    description: 'An organisation is listed for the first time.',
    templates: [orgMessage('joined the directory', 'good')],
  }),
  'alliance.created': entry({
    ...rendered,
    data: Alliance,
    sample: examples.alliance,
    description: 'An alliance was added to the directory.',
    templates: [allianceMessage('joined the directory', 'good')],
  }),
  'org.updated': updated(
    Organisation,
    examples.organisation,
    'A public field of an organisation has changed, or it is listed.',
    orgMessage('was updated', 'info'),
  ),
  'org.removed': removed(
    'An organisation',
    'An organisation was deleted, or is not listed any more.',
  ),
  'alliance.updated': updated(
    Alliance,
    examples.alliance,
    'A field of an alliance has changed, or it was added.',
    allianceMessage('was updated', 'info'),
  ),
  'alliance.removed': removed('An alliance', 'An alliance was deleted.'),
  'blueprint.updated': updated(
    Blueprint,
    examples.blueprint,
    'A field of a blueprint has changed, or it was added.',
    (blueprint) =>
      message(
        {
          title: `Blueprint ${blueprint.name} was updated`,
          text: blueprint.description,
          color: 'info',
        },
        {
          Category: blueprint.category,
          Makes: `${blueprint.output.quantity} × ${blueprint.output.name}`,
          Version: blueprint.version,
        },
      ),
  ),
  'blueprint.removed': removed('A blueprint', 'A blueprint was deleted.'),
  'blueprint.sync.completed': entry({
    ...rendered,
    data: BlueprintSync,
    description: 'A blueprint sync succeeded.',
    templates: [
      ({ source, version, counts }) =>
        message(
          { title: 'Blueprints were synchronised' },
          {
            Source: source,
            Release: version,
            Blueprints: counts.total,
            New: counts.created,
            Changed: counts.updated,
            Retired: counts.retired,
            Failed: counts.failed,
          },
        ),
    ],
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
    templates: [
      ({ source, counts }) =>
        message(
          { title: 'Member counts were synchronised' },
          {
            Source: source,
            Organisations: counts.orgs,
            Changed: counts.updated,
            Members: counts.members,
            Failed: counts.failed,
          },
        ),
    ],
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
    templates: [
      ({ message: text, since, expectedEnd }) =>
        message(
          { title: 'Maintenance has begun', text, color: 'warning' },
          { Since: timeText(since), 'Expected end': timeText(expectedEnd) },
        ),
    ],
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
    templates: [
      ({ since, endedAt }) =>
        message(
          { title: 'Maintenance has ended' },
          { Since: timeText(since), Ended: timeText(endedAt) },
        ),
    ],
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
    ({ applicantHandle, submittedAt }, org) =>
      message(
        { title: `${applicantHandle} applied to join ${org.name}` },
        { Submitted: timeText(submittedAt) },
      ),
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
    ({ title, category, startsAt, endsAt, timezone, location, url }, org) =>
      message(
        { title: `${org.name}: ${title}` },
        {
          Category: category,
          Starts: timeText(startsAt),
          Ends: timeText(endsAt),
          'Time zone': timezone,
          Location: location,
        },
        url,
      ),
  ),
  'resource.request.created': bound(
    'alliance',
    'request',
    ResourceRequest,
    'An organisation of the alliance requests resources.',
    { ...sampleResource, deadline: exampleLaterTime },
    (request, alliance) =>
      resourceMessage(`${alliance.name} needs: ${request.title}`, request, {
        'Needed by': timeText(request.deadline),
      }),
  ),
  'resource.offer.created': bound(
    'alliance',
    'offer',
    ResourceOffer,
    'An organisation of the alliance offers resources.',
    { ...sampleResource, availableUntil: exampleLaterTime },
    (offer, alliance) =>
      resourceMessage(`${alliance.name} offers: ${offer.title}`, offer, {
        'Available until': timeText(offer.availableUntil),
      }),
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
    templates: [
      ({ message: text, sample }) => {
        if (sample === null) return message({ title: 'Test', text, color: 'info' });
        const shown = messageOf(sample.event, sample.data, 1);
        return { ...shown, title: `Test: ${shown.title}` };
      },
    ],
  }),
  'webhook.probe': entry({
    audience: 'webhook',
    inner: null,
    description:
      'The service checks whether a webhook that was deactivated as failing responds again.',
    data: strictObject({}, { title: 'WebhookProbe', description: 'Empty.' }),
    templates: [() => message({ title: 'Probe', color: 'info' })],
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

/** An event as a chat channel shows it. `version`: of its templates, from 1. */
export function messageOf(name: string, data: unknown, version: number): Message {
  const { templates } = catalogue[name as EventName];
  const template = templates[Math.min(version, templates.length) - 1] as Template<unknown>;
  return template(data);
}

/** Checks the data that a publisher supplies for an event, its inner object, against the catalogue. */
export function checkInner(name: EventName, data: unknown): ReturnType<Validator<unknown>> {
  const { inner, data: schema } = catalogue[name];
  const { properties } = schema as unknown as { properties: Record<string, TSchema> };
  const innerSchema = inner === null ? undefined : properties[inner];
  if (!innerSchema) throw new Error(`nobody supplies anything of ${name}`);
  return createValidator(innerSchema)(data, 'data');
}
