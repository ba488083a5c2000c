/** What keys and apps use, by day. Days end at midnight UTC. */
import { Type, type Static } from 'typebox';
import { usageDays } from './periods.ts';
import { nullable, strictObject, uuid, count, text } from './shapes.ts';

export const usageDaysDefault = 30;
/** Temporary keys are deleted soon, and an app may have had any number of them. */
export const usedKeysMax = 100;

export const usageDaysQuery = Type.Integer({
  minimum: 1,
  maximum: usageDays,
  default: usageDaysDefault,
  description: 'The number of days, with today.',
});

const used = {
  requests: count('The number of requests with a key.'),
  errors: count('Those of them with a status of 4xx or 5xx, or that broke off.'),
  bytes: count('The size of the responses, with their headers, in bytes.'),
  events: count('The number of events that GET /events returned.'),
};
const deliveries = count('The number of deliveries that were queued and have ended.');

export const UsedDay = strictObject(
  {
    day: Type.String({ format: 'date', description: 'The day.', examples: ['2026-11-20'] }),
    ...used,
    deliveries,
  },
  { title: 'UsedDay', description: 'What an app used on one day.' },
);
export type UsedDay = Static<typeof UsedDay>;

export const UsedKey = strictObject(
  {
    keyId: uuid({ description: 'The id of the key.' }),
    name: nullable(text('The name of the key. Null if it was deleted.', 'On the server')),
    last4: nullable(text('The last four characters of the key. Null if it was deleted.', '0000')),
    ...used,
  },
  { title: 'UsedKey', description: 'What one key used.' },
);
export type UsedKey = Static<typeof UsedKey>;

export const UsedApp = strictObject(
  {
    appId: nullable(uuid({ description: 'The id of the app. Null: platform keys.' })),
    name: nullable(text('The name of the app. Null if it was deleted.', 'Announcer')),
    ...used,
    deliveries,
  },
  { title: 'UsedApp', description: 'What one app used.' },
);
export type UsedApp = Static<typeof UsedApp>;

export const AppUsage = strictObject(
  {
    days: Type.Array(UsedDay, { description: 'The days, oldest first.' }),
    keys: Type.Array(UsedKey, {
      description: `The keys that were used on these days, at most ${usedKeysMax}, those with the most requests first.`,
    }),
  },
  { title: 'AppUsage', description: 'What an app used, by day and by key.' },
);
export type AppUsage = Static<typeof AppUsage>;
