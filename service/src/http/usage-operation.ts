/** What the operations on usage of the internal API and of the portal share. */
import { exampleId } from '../contract/examples.ts';
import { usageWrittenSeconds } from '../contract/periods.ts';
import { strictObject } from '../contract/shapes.ts';
import { AppUsage, usageDaysQuery, type UsedApp } from '../contract/usage.ts';
import { oneOf } from './responses/responses.ts';

const used = { requests: 1_200, errors: 3, bytes: 5_400_000, events: 80 };
export const usedApp: UsedApp = { appId: exampleId, name: 'Announcer', ...used, deliveries: 310 };

export const appUsage = {
  operationId: 'getAppUsage',
  method: 'GET',
  summary: 'Get the usage of an app',
  description: `Returns what the app used on each day, and with which keys. Counts are written every ${usageWrittenSeconds} seconds.`,
  query: strictObject({ days: usageDaysQuery }),
  returns: { 200: 'The usage.' },
  response: oneOf(AppUsage, 'AppUsageResponse', {
    days: [{ day: '2026-11-20', ...used, deliveries: 310 }],
    keys: [{ keyId: exampleId, name: 'On the server', last4: '0000', ...used }],
  }),
} as const;
