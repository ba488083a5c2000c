import { Page } from '../layout/page.tsx';

export function OverviewPage() {
  return <Page title="Overview">{null}</Page>;
}
