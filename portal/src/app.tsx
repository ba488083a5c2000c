/** Maps addresses below /profile/developer to pages. */
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { BrowserRouter, Route, Routes } from 'react-router';
import { queryClient } from './api/query-client.ts';
import { AccountPage } from './account/account-page.tsx';
import { ChangeAddressPage } from './account/change-address-page.tsx';
import { DeleteAccountPage } from './account/delete-account.tsx';
import { SetPasswordPage } from './account/set-password-page.tsx';
import { AppPage } from './apps/app-page.tsx';
import { AppsPage } from './apps/apps-page.tsx';
import { AuditPage } from './audit/audit-page.tsx';
import { DeliveriesPage } from './deliveries/deliveries-page.tsx';
import { DeliveryPage } from './deliveries/delivery-page.tsx';
import { EventsPage } from './events/events-page.tsx';
import { KeysPage } from './keys/keys-page.tsx';
import { NotFoundPage } from './layout/not-found-page.tsx';
import { Shell } from './layout/shell.tsx';
import { InvitationPage } from './members/invitation-page.tsx';
import { MembersPage } from './members/members-page.tsx';
import { OverviewPage } from './overview/overview-page.tsx';
import { pageData, styleNonce } from './page-data.ts';
import { ProofDialog } from './security/proof-dialog.tsx';
import { SecurityPage } from './security/security-page.tsx';
import { SignedIn } from './session/signed-in.tsx';
import { FirstAccountPage } from './sign-in/first-account-page.tsx';
import { ForgotPasswordPage } from './sign-in/request-link-page.tsx';
import { SignInPage, SignUpPage } from './sign-in/sign-in-page.tsx';
import { cssVariables, theme } from './theme.ts';
import { NewWebhookPage } from './webhooks/new-webhook-page.tsx';
import { WebhookPage } from './webhooks/webhook-page.tsx';
import { WebhooksPage } from './webhooks/webhooks-page.tsx';

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
        <BrowserRouter basename={`${pageData.basePath}/profile/developer`}>
          <Pages />
          <ProofDialog />
        </BrowserRouter>
      </QueryClientProvider>
    </MantineProvider>
  );
}

function Pages() {
  return (
    <Routes>
      <Route path="/sign-in" element={<SignInPage />} />
      <Route path="/sign-up" element={<SignUpPage />} />
      <Route path="/forgot-password" element={<ForgotPasswordPage />} />
      <Route path="/set-password" element={<SetPasswordPage />} />
      <Route path="/change-address" element={<ChangeAddressPage />} />
      <Route path="/first-account" element={<FirstAccountPage />} />
      <Route path="/invitation" element={<InvitationPage />} />
      <Route
        element={
          <SignedIn>
            <Shell />
          </SignedIn>
        }
      >
        <Route index element={<OverviewPage />} />
        <Route path="/apps" element={<AppsPage />} />
        <Route path="/apps/:appId" element={<AppPage />} />
        <Route path="/apps/:appId/keys" element={<KeysPage />} />
        <Route path="/apps/:appId/webhooks" element={<WebhooksPage />} />
        <Route path="/apps/:appId/webhooks/new" element={<NewWebhookPage />} />
        <Route path="/apps/:appId/webhooks/:webhookId" element={<WebhookPage />} />
        <Route path="/apps/:appId/webhooks/:webhookId/deliveries" element={<DeliveriesPage />} />
        <Route
          path="/apps/:appId/webhooks/:webhookId/deliveries/:deliveryId"
          element={<DeliveryPage />}
        />
        <Route path="/apps/:appId/members" element={<MembersPage />} />
        <Route path="/events" element={<EventsPage />} />
        <Route path="/audit" element={<AuditPage />} />
        <Route path="/account" element={<AccountPage />} />
        <Route path="/account/delete" element={<DeleteAccountPage />} />
        <Route path="/security" element={<SecurityPage />} />
        <Route path="*" element={<NotFoundPage />} />
      </Route>
    </Routes>
  );
}
