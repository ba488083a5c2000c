/** Operations that read what apps and keys use. */
import { Type } from 'typebox';
import { readApp } from '../../access/apps.ts';
import { listUsedApps, readAppUsage } from '../../access/usage.ts';
import { envelope, pageEnvelope } from '../../contract/envelope.ts';
import { UsedApp, usageDaysQuery } from '../../contract/usage.ts';
import { PageQuery } from '../../directory/list-query.ts';
import { listOf } from '../responses/responses.ts';
import { appUsage, usedApp } from '../usage-operation.ts';
import { operation } from './surface.ts';

const UsageQuery = Type.Object(
  { ...PageQuery.properties, days: usageDaysQuery },
  { additionalProperties: false },
);

export const usageOperations = [
  operation({
    operationId: 'listUsage',
    method: 'GET',
    path: '/usage',
    summary: 'List the usage of all apps',
    description:
      'Returns the apps that used anything in these days, those with the most requests first. One entry is for all platform keys.',
    query: UsageQuery,
    returns: { 200: 'The usage.' },
    response: listOf(UsedApp, 'UsedAppList', usedApp),
    async run({ database, query }) {
      const { apps, total } = await listUsedApps(database, query);
      return pageEnvelope(apps, query, total);
    },
  }),
  operation({
    ...appUsage,
    path: '/usage/:appId',
    async run({ database, params: { appId }, query: { days } }) {
      await readApp(database, appId);
      return envelope(await readAppUsage(database, appId, days));
    },
  }),
];
