/** What the operations on usage of the internal API and of the portal share. */
import { exampleId } from '../contract/examples.ts';
import { usageWrittenSeconds } from '../contract/periods.ts';
import { strictObject } from '../contract/shapes.ts';
import { AppUsage, usageDaysQuery, UsedApp } from '../contract/usage.ts';
import { PageQuery } from '../directory/list-query.ts';
import { listOf, oneOf } from './responses/responses.ts';

const UsageQuery = strictObject({ ...PageQuery.properties, days: usageDaysQuery });

const used = { requests: 1_200, errors: 3, bytes: 5_400_000, events: 80 };
const usedApp: UsedApp = { appId: exampleId, name: 'Announcer', ...used, deliveries: 310 };

export const usageList = {
  operationId: 'listUsage',
  method: 'GET',
  path: '/usage',
  summary: 'List the usage of all apps',
  description:
    'Returns the apps that used anything in these days, those with the most requests first. One entry is for all platform keys.',
  query: UsageQuery,
  returns: { 200: 'The usage.' },
  response: listOf(UsedApp, 'UsedAppList', usedApp),
} as const;

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
