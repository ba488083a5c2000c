import { Page } from '../layout/page.tsx';

export function KeysPage() {
  return <Page title="Keys">{null}</Page>;
}
