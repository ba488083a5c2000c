import { Page } from '../layout/page.tsx';

export function DeliveriesPage() {
  return <Page title="Deliveries">{null}</Page>;
}
