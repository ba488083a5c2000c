import { Page } from '../layout/page.tsx';

export function AppsPage() {
  return <Page title="Apps">{null}</Page>;
}
