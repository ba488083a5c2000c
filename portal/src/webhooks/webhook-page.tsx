import { Page } from '../layout/page.tsx';

export function WebhookPage() {
  return <Page title="Webhook">{null}</Page>;
}
