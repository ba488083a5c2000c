import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useParams } from 'react-router';
import { app as appOperation } from '../api/operations.ts';
import type { PortalApp } from '../api/types.ts';
import { Page, type Crumb } from '../layout/page.tsx';
import { PageTabs } from '../layout/page-tabs.tsx';
import { isGone, Loaded } from '../ui/loaded.tsx';
import { Suspension } from '../ui/suspension.tsx';

export const tabs = [
  { below: '', title: 'App' },
  { below: '/keys', title: 'Keys' },
  { below: '/webhooks', title: 'Webhooks' },
  { below: '/events', title: 'Events' },
  { below: '/deliveries', title: 'Deliveries' },
  { below: '/members', title: 'Members' },
  { below: '/usage', title: 'Usage' },
];

type Props = {
  /** The title of the section. Defaults to the app's name. */
  title?: string;
  lead?: ReactNode;
  actions?: ReactNode;
  children: (app: PortalApp) => ReactNode;
};

/** Loads the app of the address, and frames each of its sections with the heading and the section links. */
export function AppFrame({ title, lead, actions, children }: Props) {
  const { appId = '' } = useParams();
  const query = useQuery(appOperation(appId));
  const isMissing = isGone(query.error);
  const name = isMissing ? 'No such app' : (query.data?.name ?? 'App');
  return (
    <Page
      title={title && !isMissing ? `${title} of ${name}` : name}
      lead={isMissing ? null : lead}
      crumbs={appsCrumbs}
      actions={actions}
    >
      {query.data && (
        <Suspension
          what="The app"
          of={query.data}
          effect="Its keys are refused, its webhooks receive nothing, and nothing can be changed."
        />
      )}
      {!isMissing && <PageTabs label="App sections" root={`/apps/${appId}`} tabs={tabs} />}
      <Loaded query={query}>{children}</Loaded>
    </Page>
  );
}

const appsCrumbs: Crumb[] = [{ title: 'Apps', to: '/apps' }];

/** Breadcrumbs to a part of an app, such as one of its webhooks. */
export function crumbsOf(app: Pick<PortalApp, 'id' | 'name'> | undefined, appId: string): Crumb[] {
  return [...appsCrumbs, { title: app?.name ?? 'App', to: `/apps/${appId}` }];
}
