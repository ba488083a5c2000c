import { Type, type Static } from 'typebox';
import { nullable, strictObject, time } from './shapes.ts';

const Maintenance = strictObject(
  {
    message: nullable(
      Type.String({
        description: 'What the operator says of it.',
        examples: ['Moving to a larger machine.'],
      }),
    ),
    since: time({ description: 'When it began.' }),
    expectedEnd: nullable(time({ description: 'When it is expected to end; null: not said.' })),
  },
  { title: 'Maintenance', description: 'A maintenance that is under way.' },
);

const Sync = strictObject(
  {
    lastCompletedAt: nullable(
      time({ description: 'When a run last ended well; null: none has yet.' }),
    ),
  },
  { title: 'SyncStatus', description: 'How a sync is doing.' },
);

export const Status = strictObject(
  {
    status: Type.Enum(['ok', 'degraded', 'maintenance'], {
      type: 'string',
      description: 'Degraded: a component is not well; reads may answer 503.',
    }),
    version: Type.String({ description: 'Of the service.', examples: ['0.1.0'] }),
    apiVersion: Type.String({ description: 'Of the API.', examples: ['v1'] }),
    time: time({ description: "The service's clock." }),
    maintenance: nullable(Maintenance),
    components: strictObject(
      {
        database: Type.Enum(['ok', 'unavailable'], {
          type: 'string',
          description: 'Unavailable: the other figures are the last that were known.',
        }),
        deliveries: Type.Enum(['ok', 'delayed', 'unavailable'], {
          type: 'string',
          description: 'Delayed: the oldest due delivery has waited for more than a minute.',
        }),
        blueprintSync: Sync,
        chatSync: Sync,
      },
      { title: 'StatusComponents', description: 'How each part of the service is doing.' },
    ),
    counts: strictObject(
      {
        orgs: Type.Integer({ minimum: 0, description: 'Listed organisations.' }),
        alliances: Type.Integer({ minimum: 0, description: 'Alliances.' }),
        blueprints: Type.Integer({ minimum: 0, description: 'Blueprints, active and retired.' }),
      },
      { title: 'StatusCounts', description: 'What the directory holds.' },
    ),
  },
  { title: 'Status', description: 'How the service is doing.' },
);
export type Status = Static<typeof Status>;
