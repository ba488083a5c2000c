/** Which webhook a page is about, and what reads of it a write changes. */
import { useParams } from 'react-router';
import type { WebhookId } from '../api/operations.ts';

export function useWebhookId(): WebhookId & { list: string; page: string } {
  const { appId = '', webhookId = '' } = useParams();
  const list = `/apps/${appId}/webhooks`;
  return { appId, webhookId, list, page: `${list}/${webhookId}` };
}

/** The webhook itself, the list that it is in, and what the overview says of it. */
export function changesOf({ list }: { list: string }): string[] {
  return [list, '/overview'];
}
