import { Page } from '../layout/page.tsx';

export function DeliveryPage() {
  return <Page title="Delivery">{null}</Page>;
}
