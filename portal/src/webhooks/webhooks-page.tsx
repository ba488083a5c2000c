import { Page } from '../layout/page.tsx';

export function WebhooksPage() {
  return <Page title="Webhooks">{null}</Page>;
}
