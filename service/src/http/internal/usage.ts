/** Operations that read what apps and keys use. */
import { readApp } from '../../access/apps.ts';
import { listUsedApps, readAppUsage } from '../../access/usage.ts';
import { envelope, pageEnvelope } from '../../contract/envelope.ts';
import { appUsage, usageList } from '../usage-operation.ts';
import { operation } from './surface.ts';

export const usageOperations = [
  operation({
    ...usageList,
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
