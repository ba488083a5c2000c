/** The webhook of the current page, and the reads that a write to it changes. */
import { useParams } from 'react-router';
import type { WebhookId } from '../api/operations.ts';

export function useWebhookId(): WebhookId & { list: string; page: string } {
  const { appId = '', webhookId = '' } = useParams();
  const list = `/apps/${appId}/webhooks`;
  return { appId, webhookId, list, page: `${list}/${webhookId}` };
}

/** A write to a webhook changes the apps, which count their webhooks, the overview and the audit log. */
export const webhookChanges = ['/apps', '/overview', '/audit'];
