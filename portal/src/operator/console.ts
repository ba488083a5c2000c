/** The pages of the console as one script, which only operators load. */
export { AccountsPage, AppsPage, SettingsPage, UsagePage, WebhooksPage } from './lists.tsx';
export { OverviewPage } from './overview-page.tsx';
