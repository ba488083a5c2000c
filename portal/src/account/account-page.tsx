import { Page } from '../layout/page.tsx';

export function AccountPage() {
  return <Page title="Account">{null}</Page>;
}
