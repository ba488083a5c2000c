import { Type, type Static } from 'typebox';
import { nullable, strictObject, time } from './shapes.ts';

export const Maintenance = strictObject(
  { message: nullable(Type.String()), since: time(), expectedEnd: nullable(time()) },
  { title: 'Maintenance' },
);

const Sync = strictObject({ lastCompletedAt: nullable(time()) }, { title: 'SyncStatus' });

export const Status = strictObject(
  {
    status: Type.Enum(['ok', 'degraded', 'maintenance'], { type: 'string' }),
    version: Type.String({ description: 'Of the service.', examples: ['0.1.0'] }),
    apiVersion: Type.String({ examples: ['v1'] }),
    time: time(),
    maintenance: nullable(Maintenance),
    components: strictObject(
      {
        database: Type.Enum(['ok', 'unavailable'], { type: 'string' }),
        deliveries: Type.Enum(['ok', 'delayed', 'unavailable'], {
          type: 'string',
          description: 'Delayed: the oldest due delivery has waited for more than a minute.',
        }),
        blueprintSync: Sync,
        chatSync: Sync,
      },
      { title: 'Components' },
    ),
    counts: strictObject(
      {
        orgs: Type.Integer({ minimum: 0 }),
        alliances: Type.Integer({ minimum: 0 }),
        blueprints: Type.Integer({ minimum: 0 }),
      },
      { title: 'Counts' },
    ),
  },
  { title: 'Status', description: 'How the service is doing.' },
);
export type Status = Static<typeof Status>;
