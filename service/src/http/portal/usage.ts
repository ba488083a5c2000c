/** GET /apps/{appId}/usage: what an app uses, for its members. */
import { requireRole } from '../../access/require-role.ts';
import { readAppUsage } from '../../access/usage.ts';
import { envelope } from '../../contract/envelope.ts';
import { appUsage } from '../usage-operation.ts';
import { operation } from './surface.ts';

export const getAppUsage = operation({
  ...appUsage,
  path: '/apps/:appId/usage',
  async run({ database, email, params: { appId }, query: { days } }) {
    await requireRole(database, email, appId, 'viewer');
    return envelope(await readAppUsage(database, appId, days));
  },
});
