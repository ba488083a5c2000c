/** What apps and keys use: operations of the internal API, of the portal and of the console. */
import { listUsedApps, readAppUsage } from '../access/usage.ts';
import { envelope, pageEnvelope } from '../contract/envelope.ts';
import { exampleId } from '../contract/examples.ts';
import { usageWrittenSeconds } from '../contract/periods.ts';
import { strictObject } from '../contract/shapes.ts';
import { AppUsage, usageDaysQuery, UsedApp } from '../contract/usage.ts';
import type { Database } from '../database/database.ts';
import { PageQuery } from '../directory/list-query.ts';
import { operationFor } from './operations.ts';
import { listOf, oneOf } from './responses/responses.ts';

const used = { requests: 1_200, errors: 3, bytes: 5_400_000, events: 80 };
const usedApp: UsedApp = { appId: exampleId, name: 'Announcer', ...used, deliveries: 310 };

export const listUsage = operationFor<{ database: Database }>()({
  operationId: 'listUsage',
  method: 'GET',
  path: '/usage',
  summary: 'List the usage of all apps',
  description:
    'Returns the apps that used anything in these days, those with the most requests first. One entry is for all platform keys.',
  query: strictObject({ ...PageQuery.properties, days: usageDaysQuery }),
  returns: { 200: 'The usage.' },
  response: listOf(UsedApp, 'UsedAppList', usedApp),
  async run({ database, query }) {
    const { apps, total } = await listUsedApps(database, query);
    return pageEnvelope(apps, query, total);
  },
});

/** `requireRight`: throws if the caller may not know what the app uses. */
export function getAppUsage<Context extends { database: Database }>(
  path: '/usage/:appId' | '/apps/:appId/usage',
  requireRight: (context: Context, appId: string) => Promise<unknown>,
) {
  return operationFor<Context>()({
    operationId: 'getAppUsage',
    method: 'GET',
    path,
    summary: 'Get the usage of an app',
    description: `Returns what the app used on each day, and with which keys. Counts are written every ${usageWrittenSeconds} seconds.`,
    query: strictObject({ days: usageDaysQuery }),
    returns: { 200: 'The usage.' },
    response: oneOf(AppUsage, 'AppUsageResponse', {
      days: [{ day: '2026-11-20', ...used, deliveries: 310 }],
      keys: [{ keyId: exampleId, name: 'On the server', last4: '0000', ...used }],
    }),
    async run(context) {
      const { appId } = context.params;
      await requireRight(context, appId);
      return envelope(await readAppUsage(context.database, appId, context.query.days));
    },
  });
}
