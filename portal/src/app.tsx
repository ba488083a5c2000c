/** Maps addresses below /profile/developer to pages. The overview is in the first script; the others load together, on demand. */
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import {
  createBrowserRouter,
  createRoutesFromElements,
  Navigate,
  Outlet,
  Route,
  RouterProvider,
  useParams,
  useRouteError,
} from 'react-router';
import { queryClient } from './api/query-client.ts';
import { NotFoundPage } from './layout/not-found-page.tsx';
import { Shell } from './layout/shell.tsx';
import { OverviewPage } from './overview/overview-page.tsx';
import { isConsole, pagesPath, styleNonce } from './page-data.ts';
import { pages } from './pages-script.ts';
import { ProofDialog } from './security/proof-dialog.tsx';
import { SignedIn } from './session/signed-in.tsx';
import { cssVariables, theme } from './theme.ts';
import { Deferred } from './ui/deferred.tsx';
import { awaitPage } from './ui/move-focus.ts';
import { TimesProvider } from './ui/times.tsx';

/** Addresses that need no session. */
const signedOutPages = {
  '/sign-in': 'SignInPage',
  '/sign-up': 'SignUpPage',
  '/forgot-password': 'ForgotPasswordPage',
  '/set-password': 'SetPasswordPage',
  '/change-address': 'ChangeAddressPage',
  '/first-account': 'FirstAccountPage',
  '/invitation': 'InvitationPage',
} as const;

/** Those about one's own account, in the console too. */
const accountPages = {
  '/account': 'AccountPage',
  '/account/delete': 'DeleteAccountPage',
  '/security': 'SecurityPage',
} as const;

/** The others, except the overview. */
const signedInPages = {
  '/apps': 'AppsPage',
  '/apps/:appId': 'AppPage',
  '/apps/:appId/keys': 'KeysPage',
  '/apps/:appId/events': 'AppEventsPage',
  '/apps/:appId/deliveries': 'AppDeliveriesPage',
  '/apps/:appId/members': 'MembersPage',
  '/apps/:appId/usage': 'UsagePage',
  '/apps/:appId/webhooks': 'WebhooksPage',
  '/apps/:appId/webhooks/new': 'NewWebhookPage',
  '/apps/:appId/webhooks/:webhookId/settings': 'WebhookSettingsPage',
  '/apps/:appId/webhooks/:webhookId/signing': 'WebhookSigningPage',
  '/apps/:appId/webhooks/:webhookId/test': 'WebhookTestPage',
  '/apps/:appId/webhooks/:webhookId/deliveries': 'WebhookDeliveriesPage',
  '/apps/:appId/webhooks/:webhookId/deliveries/:deliveryId': 'DeliveryPage',
  '/apps/:appId/webhooks/:webhookId/explain': 'ExplainPage',
  '/events': 'EventsPage',
  '/audit': 'AuditPage',
} as const;

const consolePages = {
  '/': 'InstallationPage',
  '/apps': 'AllAppsPage',
  '/accounts': 'AccountsPage',
  '/keys': 'AllKeysPage',
  '/webhooks': 'AllWebhooksPage',
  '/deliveries': 'AllDeliveriesPage',
  '/refused': 'RefusedPage',
  '/directory': 'DirectoryPage',
  '/directory/:kind/:name': 'EntryPage',
  '/syncs': 'SyncsPage',
  '/notices': 'NoticesPage',
  '/audit': 'AllChangesPage',
  '/usage': 'AllUsagePage',
  '/settings': 'SettingsPage',
} as const;

const router = createBrowserRouter(
  createRoutesFromElements(
    <Route element={<Root />} errorElement={<Failed />}>
      {routesOf(signedOutPages)}
      <Route
        element={
          <SignedIn>
            <Shell />
          </SignedIn>
        }
      >
        {routesOf(accountPages)}
        {isConsole ? routesOf(consolePages) : portalRoutes()}
        <Route path="*" element={<NotFoundPage />} />
      </Route>
    </Route>,
  ),
  { basename: pagesPath },
);

let shown = router.state.location;
router.subscribe(({ location }) => {
  if (location === shown) return;
  shown = location;
  awaitPage();
});

function routesOf(table: Record<string, keyof Awaited<ReturnType<typeof pages.load>>>) {
  return Object.entries(table).map(([path, part]) => (
    <Route key={path} path={path} element={<PageOf part={part} />} />
  ));
}

/** A page of another app or webhook begins anew: nothing that was shown or typed on the one before stays. */
function PageOf({ part }: { part: keyof Awaited<ReturnType<typeof pages.load>> }) {
  const { appId, webhookId } = useParams();
  return <Deferred key={`${appId} ${webhookId}`} script={pages} part={part} />;
}

function portalRoutes() {
  return (
    <>
      <Route index element={<OverviewPage />} />
      {routesOf(signedInPages)}
      <Route
        path="/apps/:appId/webhooks/:webhookId"
        element={<Navigate to="deliveries" replace />}
      />
    </>
  );
}

export function App() {
  return (
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      cssVariablesResolver={cssVariables}
      getStyleNonce={() => styleNonce}
    >
      <QueryClientProvider client={queryClient}>
        <Notifications position="bottom-right" containerWidth="min(26rem, calc(100vw - 2rem))" />
        <TimesProvider>
          <RouterProvider router={router} />
        </TimesProvider>
      </QueryClientProvider>
    </MantineProvider>
  );
}

function Root() {
  return (
    <>
      <Outlet />
      <ProofDialog />
    </>
  );
}

/** Passes an error on to `onUncaughtError`. The router would replace the page with a message of its own. */
function Failed(): never {
  throw useRouteError();
}
