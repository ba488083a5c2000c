/** The console's operations on the quotas of an app, like `orgdir quotas`. */
import { changeQuotas, readQuotas } from '../../access/quotas.ts';
import { OperatorQuota, QuotaChanges } from '../../contract/operator.ts';
import { onOnePage } from '../portal/surface.ts';
import { listOf } from '../responses/responses.ts';
import { operation } from './surface.ts';

const shared = {
  path: '/apps/:id/quotas',
  returns: { 200: 'The quotas in force.' },
  response: listOf(OperatorQuota, 'OperatorQuotaList', {
    quota: 'webhooks',
    limit: 50,
    isDefault: false,
    used: 12,
  }),
} as const;

export const quotaOperations = [
  operation({
    ...shared,
    operationId: 'listQuotas',
    method: 'GET',
    summary: 'List the quotas of an app',
    description: 'Returns what the app may have and use, and what it has.',
    run: async ({ database, params: { id } }) => onOnePage(await readQuotas(database, id)),
  }),
  operation({
    ...shared,
    operationId: 'changeQuotas',
    method: 'PATCH',
    summary: 'Change quotas of an app',
    description:
      'Takes effect in every process within a second. What the app has beyond a quota stays, and it gets no more.',
    body: QuotaChanges,
    run: ({ change, actor, params: { id }, body }) =>
      change(async (tx) => {
        await changeQuotas(tx, actor, id, body);
        return onOnePage(await readQuotas(tx, id));
      }),
  }),
];
