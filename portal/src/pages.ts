/** All pages except the overview, and the dialogs of its first steps, as one script. Few people open only one of them, and a cache keeps it. */
export { AccountPage } from './account/account-page.tsx';
export { DeleteAccountPage } from './account/delete-account.tsx';
export { SecurityPage } from './security/security-page.tsx';
export { AppPage } from './apps/app-page.tsx';
export { AppsPage } from './apps/apps-page.tsx';
export { AppDeliveriesPage, WebhookDeliveriesPage } from './deliveries/deliveries-page.tsx';
export { DeliveryPage } from './deliveries/delivery-page.tsx';
export { ExplainPage } from './deliveries/explain-page.tsx';
export { KeysPage } from './keys/keys-page.tsx';
export { MembersPage } from './members/members-page.tsx';
export { UsagePage } from './usage/usage-page.tsx';
export { NewWebhookPage } from './webhooks/new-webhook-page.tsx';
export { WebhookSettingsPage } from './webhooks/settings-page.tsx';
export { WebhookSigningPage } from './webhooks/signing-page.tsx';
export { WebhookTestPage } from './webhooks/test-page.tsx';
export { WebhooksPage } from './webhooks/webhooks-page.tsx';
export { AuditPage } from './audit/audit-page.tsx';
export { AppEventsPage } from './events/app-events-page.tsx';
export { EventsPage } from './events/events-page.tsx';
export { DirectoryPage } from './operator/directory-page.tsx';
export { EntryPage } from './operator/entry-page.tsx';
export { AllChangesPage, AllDeliveriesPage } from './operator/older-lists.tsx';
export { NoticesPage } from './operator/notices-page.tsx';
export { RefusedPage } from './operator/refused-page.tsx';
export { SyncsPage } from './operator/syncs-page.tsx';
export {
  AccountsPage,
  AppsPage as AllAppsPage,
  KeysPage as AllKeysPage,
  SettingsPage,
  UsagePage as AllUsagePage,
  WebhooksPage as AllWebhooksPage,
} from './operator/lists.tsx';
export { OverviewPage as InstallationPage } from './operator/overview-page.tsx';
export { Find } from './layout/find.tsx';
export { FirstStep } from './overview/first-step.tsx';
export { ChangeAddressPage } from './account/change-address-page.tsx';
export { SetPasswordPage } from './account/set-password-page.tsx';
export { InvitationPage } from './members/invitation-page.tsx';
export { FirstAccountPage } from './sign-in/first-account-page.tsx';
export { ForgotPasswordPage } from './sign-in/request-link-page.tsx';
export { SignInPage, SignUpPage } from './sign-in/sign-in-page.tsx';
