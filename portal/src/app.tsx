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
  useRouteError,
} from 'react-router';
import { queryClient } from './api/query-client.ts';
import { NotFoundPage } from './layout/not-found-page.tsx';
import { Shell } from './layout/shell.tsx';
import { OverviewPage } from './overview/overview-page.tsx';
import { pageData, styleNonce } from './page-data.ts';
import { ProofDialog } from './security/proof-dialog.tsx';
import { SignedIn } from './session/signed-in.tsx';
import { cssVariables, theme } from './theme.ts';
import { Deferred } from './ui/deferred.tsx';

const pages = { name: 'pages', load: () => import('./pages.ts') };

const router = createBrowserRouter(
  createRoutesFromElements(
    <Route element={<Root />} errorElement={<Failed />}>
      <Route path="/sign-in" element={<Deferred script={pages} part="SignInPage" />} />
      <Route path="/sign-up" element={<Deferred script={pages} part="SignUpPage" />} />
      <Route
        path="/forgot-password"
        element={<Deferred script={pages} part="ForgotPasswordPage" />}
      />
      <Route path="/set-password" element={<Deferred script={pages} part="SetPasswordPage" />} />
      <Route
        path="/change-address"
        element={<Deferred script={pages} part="ChangeAddressPage" />}
      />
      <Route path="/first-account" element={<Deferred script={pages} part="FirstAccountPage" />} />
      <Route path="/invitation" element={<Deferred script={pages} part="InvitationPage" />} />
      <Route
        element={
          <SignedIn>
            <Shell />
          </SignedIn>
        }
      >
        <Route index element={<OverviewPage />} />
        <Route path="/apps" element={<Deferred script={pages} part="AppsPage" />} />
        <Route path="/apps/:appId" element={<Deferred script={pages} part="AppPage" />} />
        <Route path="/apps/:appId/keys" element={<Deferred script={pages} part="KeysPage" />} />
        <Route
          path="/apps/:appId/deliveries"
          element={<Deferred script={pages} part="AppDeliveriesPage" />}
        />
        <Route
          path="/apps/:appId/members"
          element={<Deferred script={pages} part="MembersPage" />}
        />
        <Route
          path="/apps/:appId/webhooks"
          element={<Deferred script={pages} part="WebhooksPage" />}
        />
        <Route
          path="/apps/:appId/webhooks/new"
          element={<Deferred script={pages} part="NewWebhookPage" />}
        />
        <Route
          path="/apps/:appId/webhooks/:webhookId"
          element={<Navigate to="deliveries" replace />}
        />
        <Route
          path="/apps/:appId/webhooks/:webhookId/settings"
          element={<Deferred script={pages} part="WebhookSettingsPage" />}
        />
        <Route
          path="/apps/:appId/webhooks/:webhookId/signing"
          element={<Deferred script={pages} part="WebhookSigningPage" />}
        />
        <Route
          path="/apps/:appId/webhooks/:webhookId/test"
          element={<Deferred script={pages} part="WebhookTestPage" />}
        />
        <Route
          path="/apps/:appId/webhooks/:webhookId/deliveries"
          element={<Deferred script={pages} part="WebhookDeliveriesPage" />}
        />
        <Route
          path="/apps/:appId/webhooks/:webhookId/deliveries/:deliveryId"
          element={<Deferred script={pages} part="DeliveryPage" />}
        />
        <Route path="/events" element={<Deferred script={pages} part="EventsPage" />} />
        <Route path="/audit" element={<Deferred script={pages} part="AuditPage" />} />
        <Route path="/account" element={<Deferred script={pages} part="AccountPage" />} />
        <Route
          path="/account/delete"
          element={<Deferred script={pages} part="DeleteAccountPage" />}
        />
        <Route path="/security" element={<Deferred script={pages} part="SecurityPage" />} />
        <Route path="*" element={<NotFoundPage />} />
      </Route>
    </Route>,
  ),
  { basename: `${pageData.basePath}/profile/developer` },
);

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
        <RouterProvider router={router} />
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
