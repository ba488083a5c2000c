import { useQuery } from '@tanstack/react-query';
import { useParams } from 'react-router';
import { app, webhook, type WebhookId } from '../api/operations.ts';
import { crumbsOf } from '../apps/app-frame.tsx';
import type { Crumb } from '../layout/page.tsx';
import { nameOf } from './describe-webhook.ts';

export function useWebhookId(): WebhookId & { list: string; page: string } {
  const { appId = '', webhookId = '' } = useParams();
  const list = `/apps/${appId}/webhooks`;
  return { appId, webhookId, list, page: `${list}/${webhookId}` };
}

/** Breadcrumbs to a page below the webhook's. */
export function useWebhookCrumbs(): Crumb[] {
  const id = useWebhookId();
  const { data } = useQuery(webhook(id));
  return [
    ...crumbsOf(useQuery(app(id.appId)).data, id.appId),
    { title: 'Webhooks', to: id.list },
    { title: data ? nameOf(data) : 'Webhook', to: id.page },
  ];
}
