/** Which webhook a page is about, and what reads of it a write changes. */
import { useParams } from 'react-router';
import type { WebhookId } from '../api/operations.ts';

export function useWebhookId(): WebhookId & { list: string; page: string } {
  const { appId = '', webhookId = '' } = useParams();
  const list = `/apps/${appId}/webhooks`;
  return { appId, webhookId, list, page: `${list}/${webhookId}` };
}

/** What a write to a webhook changes: all that is read of apps, which count them, the overview and the audit log. */
export const webhookChanges = ['/apps', '/overview', '/audit'];
