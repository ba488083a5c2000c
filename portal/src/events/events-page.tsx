import { Page } from '../layout/page.tsx';

export function EventsPage() {
  return <Page title="Events">{null}</Page>;
}
