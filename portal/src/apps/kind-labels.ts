import type { PortalBinding } from '../api/types.ts';

export const kindLabels: Record<PortalBinding['kind'], string> = {
  organization: 'organisation',
  alliance: 'alliance',
};
