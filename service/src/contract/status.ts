import { Type, type Static } from 'typebox';
import { severities } from './announcement.ts';
import { nullable, strictObject, time, state, count, text } from './shapes.ts';

const Maintenance = strictObject(
  {
    message: nullable(text('A message from the operator.', 'Moving to a larger machine.')),
    since: time({ description: 'When the maintenance began.' }),
    expectedEnd: nullable(
      time({ description: 'When the maintenance is expected to end. Null if unknown.' }),
    ),
  },
  { title: 'Maintenance', description: 'The current maintenance.' },
);

export const Announcement = strictObject(
  {
    id: Type.String({ format: 'uuid', description: 'The id of the announcement.' }),
    severity: state([...severities], 'How serious it is. More may be added.'),
    text: text('What the operator says.', 'The directory moves to a larger machine.'),
    startsAt: nullable(time({ description: 'When it takes place. Null: now.' })),
    endsAt: nullable(
      time({ description: 'Until when it is shown. Null: until the operator ends it.' }),
    ),
    createdAt: time({ description: 'When it was announced.' }),
  },
  { title: 'Announcement', description: 'What the operator announces.' },
);
export type Announcement = Static<typeof Announcement>;

const Sync = strictObject(
  {
    lastCompletedAt: nullable(
      time({ description: 'When a run last succeeded. Null if none has.' }),
    ),
  },
  { title: 'SyncStatus', description: 'The state of a sync.' },
);

export const Status = strictObject(
  {
    status: state(
      ['ok', 'degraded', 'maintenance'],
      '`degraded`: a component has a problem, and reads may return 503.',
    ),
    version: text('The version of the service.', '1.0.0'),
    apiVersion: text('The version of the API.', 'v1'),
    time: time({ description: 'The current time of the service.' }),
    maintenance: nullable(Maintenance),
    announcements: Type.Array(Announcement, {
      description: 'What the operator announces, newest first.',
    }),
    components: strictObject(
      {
        database: state(
          ['ok', 'unavailable'],
          '`unavailable`: the other values are the last known ones.',
        ),
        deliveries: state(
          ['ok', 'delayed', 'unavailable'],
          '`delayed`: a due delivery has waited for more than a minute, not counting those that wait for a slow or failing webhook, or an event has, and no worker runs.',
        ),
        blueprintSync: Sync,
        chatSync: Sync,
      },
      { title: 'StatusComponents', description: 'The state of each component.' },
    ),
    counts: strictObject(
      {
        orgs: count('The number of listed organisations.'),
        alliances: count('The number of alliances.'),
        blueprints: count('The number of blueprints, active and retired.'),
      },
      { title: 'StatusCounts', description: 'The size of the directory.' },
    ),
  },
  { title: 'ServiceStatus', description: 'The state of the service.' },
);
export type Status = Static<typeof Status>;
