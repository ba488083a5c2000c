import { Page } from '../layout/page.tsx';

export function AuditPage() {
  return <Page title="Audit log">{null}</Page>;
}
