/** Declares every operation of the portal API once, with its request and response. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { suspendableKinds } from '../../../service/src/contract/console.ts';
import { quotasMax } from '../../../service/src/contract/quotas.ts';
import { call, isUnauthorized, path, type Envelope, type Call } from './call.ts';
import { read, readEdited, readOlder, readPage, callEdited, type Page } from './read.ts';
import type { EntryKind } from '../operator/entry-fields.ts';
import type * as Api from './types.ts';

type PageQuery = { page?: number; limit?: number };
export type WebhookId = { appId: string; webhookId: string };
/** `webhookId` null: all webhooks of the app. */
export type DeliveryScope = { appId: string; webhookId: string | null };
export type DeliveryId = WebhookId & { deliveryId: string };

const appPath = (appId: string) => path('apps', appId);
const keysPath = (appId: string) => path('apps', appId, 'keys');
const webhooksPath = (appId: string) => path('apps', appId, 'webhooks');
const webhookPath = ({ appId, webhookId }: WebhookId) => path('apps', appId, 'webhooks', webhookId);
const deliveryPath = ({ deliveryId, ...webhook }: DeliveryId) =>
  `${webhookPath(webhook)}${path('deliveries', deliveryId)}`;

export const overview = () => read<Api.Overview>('/overview');

/** All apps, because one is a member of at most 100. */
export const apps = () => readPage<Api.PortalApp>('/apps');
export const app = (appId: string) => read<Api.PortalApp>(appPath(appId));
export const createApp = (body: Api.NewApp, idempotencyKey: string) =>
  write<Api.PortalApp>({ method: 'POST', path: '/apps', body, idempotencyKey });
export const updateApp = (appId: string, body: Api.AppChanges) =>
  write<Api.PortalApp>({ method: 'PATCH', path: appPath(appId), body });
export const deleteApp = (appId: string) => write({ method: 'DELETE', path: appPath(appId) });

export const members = (appId: string) => readPage<Api.AppMember>(`${appPath(appId)}/members`);
export const updateMember = (appId: string, memberId: string, body: Api.AppMemberChanges) =>
  write<Api.AppMember>({
    method: 'PATCH',
    path: `${appPath(appId)}${path('members', memberId)}`,
    body,
  });
export const removeMember = (appId: string, memberId: string, query: Api.RemoveMemberQuery) =>
  write<Api.RemovedAppMember>({
    method: 'DELETE',
    path: `${appPath(appId)}${path('members', memberId)}`,
    query: { ...query },
  });
export const transferApp = (appId: string, body: Api.AppTransfer) =>
  write<Api.PortalApp>({ method: 'POST', path: `${appPath(appId)}/transfer`, body });
export const updateMembership = (appId: string, body: Api.MembershipChanges) =>
  write<Api.PortalApp>({ method: 'PATCH', path: `${appPath(appId)}/membership`, body });
export const leaveApp = (appId: string) =>
  write({ method: 'DELETE', path: `${appPath(appId)}/membership` });

export const invitations = (appId: string) =>
  readPage<Api.AppInvitation>(`${appPath(appId)}/invitations`);
export const createInvitation = (appId: string, body: Api.NewInvitation) =>
  write<Api.AppInvitation>({ method: 'POST', path: `${appPath(appId)}/invitations`, body });
export const resendInvitation = (appId: string, invitationId: string) =>
  write<Api.AppInvitation>({
    method: 'POST',
    path: `${appPath(appId)}${path('invitations', invitationId)}/resend`,
  });
export const revokeInvitation = (appId: string, invitationId: string) =>
  write({ method: 'DELETE', path: `${appPath(appId)}${path('invitations', invitationId)}` });

export const ownInvitations = () => readPage<Api.OwnInvitation>('/invitations');
export const acceptInvitation = (invitationId: string) =>
  write<Api.PortalApp>({ method: 'POST', path: `${path('invitations', invitationId)}/accept` });
export const declineInvitation = (invitationId: string) =>
  write({ method: 'POST', path: `${path('invitations', invitationId)}/decline` });
/** Reads by POST, to keep the token out of addresses. */
export const invitationLink = (token: string) =>
  queryOptions({
    queryKey: ['/invitations/check', { token }] as const,
    queryFn: async ({ signal, queryKey: [checkPath, body] }) =>
      (await call<Envelope<Api.InvitationLink>>({ method: 'POST', path: checkPath, body, signal }))
        .data,
    staleTime: Infinity,
  });
export const signUpWithInvitation = (token: string) =>
  write({ method: 'POST', path: '/invitations/sign-up', body: { token } });

export const bindable = (query: Api.ListBindableQuery) =>
  readPage<Api.Bindable>('/bindable', { ...query });
export const bindApp = (appId: string, body: Api.NewBinding) =>
  write<Api.PortalApp>({ method: 'PUT', path: `${appPath(appId)}/binding`, body });
export const unbindApp = (appId: string) =>
  write<Api.PortalApp>({ method: 'DELETE', path: `${appPath(appId)}/binding` });

export const keys = (appId: string, query: PageQuery = {}) =>
  readPage<Api.PortalKey>(keysPath(appId), query);
export const createKey = (appId: string, body: Api.NewKey, idempotencyKey: string) =>
  write<Api.CreatedKey>({ method: 'POST', path: keysPath(appId), body, idempotencyKey });
export const revokeKey = (appId: string, keyId: string) =>
  write<Api.PortalKey>({ method: 'DELETE', path: `${keysPath(appId)}${path(keyId)}` });
export const rotateKey = (
  appId: string,
  keyId: string,
  overlapSeconds: number,
  idempotencyKey: string,
) =>
  write<Api.RotatedKey>({
    method: 'POST',
    path: `${keysPath(appId)}${path(keyId)}/rotate`,
    body: { overlapSeconds },
    idempotencyKey,
  });

/** One page has all of them. */
export const webhooks = (appId: string) =>
  readPage<Api.Webhook>(webhooksPath(appId), { limit: quotasMax.webhooks });
export const webhook = (id: WebhookId) => read<Api.Webhook>(webhookPath(id));
export const createWebhook = (appId: string, body: Api.WebhookInput, idempotencyKey: string) =>
  write<Api.CreatedWebhook>({ method: 'POST', path: webhooksPath(appId), body, idempotencyKey });
export const previewFilters = (appId: string, body: Api.FilterPreviewRequest) =>
  write<Api.FilterPreview>({
    method: 'POST',
    path: `${webhooksPath(appId)}/preview-filters`,
    body,
  });
export const updateWebhook = (id: WebhookId, body: Api.WebhookChanges) =>
  write<Api.Webhook>({ method: 'PATCH', path: webhookPath(id), body });
export const deleteWebhook = (id: WebhookId) => write({ method: 'DELETE', path: webhookPath(id) });
/** `event` null: a test without a sample. */
export const testWebhook = (id: WebhookId, event: string | null) =>
  write<Api.DeliveryDetail>({
    method: 'POST',
    path: `${webhookPath(id)}/test`,
    body: event === null ? {} : { event },
  });
export const rotateWebhookSecret = (
  id: WebhookId,
  overlapSeconds: number,
  idempotencyKey: string,
) =>
  write<Api.CreatedWebhook>({
    method: 'POST',
    path: `${webhookPath(id)}/rotate-secret`,
    body: { overlapSeconds },
    idempotencyKey,
  });

export type DeliveryPageOfApp = Page<Api.PortalDelivery> & {
  searched: Api.SearchedDeliveries | null;
};
/** Newest first. */
export const pastEvents = (appId: string, before: string | null) =>
  readOlder<Api.AppEvent>(`${appPath(appId)}/past-events`, { before });
/** The deliveries of all webhooks, or of the one that the query names. */
export const deliveries = (appId: string, query: Api.ListAppDeliveriesQuery) =>
  queryOptions({
    queryKey: [`${appPath(appId)}/deliveries`, query] as const,
    queryFn: async ({ signal, queryKey: [listPath] }): Promise<DeliveryPageOfApp> => {
      const { data, pagination, searched } = await call<
        Required<Envelope<Api.PortalDelivery[]>> & Pick<DeliveryPageOfApp, 'searched'>
      >({
        path: listPath,
        query: { ...query },
        signal,
      });
      return { entries: data, pagination, searched };
    },
    placeholderData: keepPreviousData,
  });
export const redeliverSeveral = (appId: string, deliveryIds: string[]) =>
  write<Api.Redelivery[]>({
    method: 'POST',
    path: `${appPath(appId)}/deliveries/redeliver`,
    body: { deliveryIds },
  });
export const webhookStats = (appId: string) =>
  readPage<Api.WebhookStats>(`${appPath(appId)}/webhook-stats`);
export const deliveryStats = (appId: string, query: Api.GetDeliveryStatsQuery) =>
  read<Api.DeliveryStats>(`${appPath(appId)}/delivery-stats`, { ...query });
export const appUsage = (appId: string, query: Api.GetAppUsageQuery) =>
  read<Api.AppUsage>(`${appPath(appId)}/usage`, { ...query });
export const delivery = (id: DeliveryId) => read<Api.DeliveryDetail>(deliveryPath(id));
export const redeliver = (id: DeliveryId) =>
  write<Api.DeliveryDetail>({ method: 'POST', path: `${deliveryPath(id)}/redeliver` });
/** `since`: RFC 3339. */
export const recoverable = (id: WebhookId, since: string) =>
  read<Api.Recoverable>(`${webhookPath(id)}/recoverable`, { since });
export const recover = (id: WebhookId, since: string) =>
  write<Api.Recovered>({ method: 'POST', path: `${webhookPath(id)}/recover`, body: { since } });
/** Counts by POST; queues nothing. */
export const countReplay = (id: WebhookId, range: Omit<Api.ReplayRequest, 'dryRun'>) =>
  queryOptions({
    queryKey: [`${webhookPath(id)}/replay`, range] as const,
    queryFn: async ({ signal, queryKey: [replayPath] }) =>
      (
        await call<Envelope<Api.Replayed>>({
          method: 'POST',
          path: replayPath,
          body: { ...range, dryRun: true },
          signal,
        })
      ).data,
  });
export const replay = (id: WebhookId, body: Omit<Api.ReplayRequest, 'dryRun'>) =>
  write<Api.Replayed>({ method: 'POST', path: `${webhookPath(id)}/replay`, body });
export const explainEvent = (id: WebhookId, eventId: string) =>
  read<Api.Explanation>(`${webhookPath(id)}${path('explain', eventId)}`);
export const explainTime = (id: WebhookId, query: Api.ExplainTimeQuery) =>
  read<Api.Explanation>(`${webhookPath(id)}/explain`, { ...query });

export const catalogue = () => readPage<Api.CatalogueEvent>('/events');
export const events = (appId: string) => readPage<Api.PortalEvent>(`${appPath(appId)}/events`);
export const audit = (query: PageQuery & { app?: string }) =>
  readPage<Api.PortalAuditEntry>('/audit', query);

/** Null: nobody is signed in. */
export async function readSession(signal?: AbortSignal): Promise<Api.PortalSession | null> {
  try {
    const response = await call<Envelope<Api.PortalSession>>({
      path: '/session',
      ...(signal && { signal }),
    });
    return response.data;
  } catch (error) {
    if (isUnauthorized(error)) return null;
    throw error;
  }
}
/** False: the address or the password is wrong. */
export async function signIn(body: Api.Credentials): Promise<boolean> {
  try {
    await write({ method: 'POST', path: '/sign-in', body });
    return true;
  } catch (error) {
    if (isUnauthorized(error)) return false;
    throw error;
  }
}
export const passkeyOptions = () =>
  write<Api.PasskeyOptions>({ method: 'POST', path: '/sign-in/passkey/options' });
export const signInWithPasskey = (body: Api.PasskeyAssertion) =>
  write({ method: 'POST', path: '/sign-in/passkey', body });
/** With a code of the authenticator app, or a recovery code. */
export const completeSignIn = (body: Api.FactorCode) =>
  write({ method: 'POST', path: '/sign-in/second-factor', body });
export const signInWithProvider = (body: Api.ProviderRequest) =>
  write<Api.ProviderRedirect>({ method: 'POST', path: '/sign-in/provider', body });
export const signOut = () => write({ method: 'POST', path: '/sign-out' });
export const firstAccountLink = (token: string) =>
  checkLink<Api.Done>('/first-account/check', token);
export const createFirstAccount = (body: Api.NewFirstAccount) =>
  write<Api.FirstAccount>({ method: 'POST', path: '/first-account', body });

export const requestPasswordLink = (email: string) =>
  write({ method: 'POST', path: '/password-links', body: { email } });
export const passwordLink = (token: string) =>
  checkLink<Api.PasswordLink>('/password-links/check', token);
export const setPassword = (body: Api.ChosenPassword) =>
  write<Api.PasswordSet>({ method: 'POST', path: '/password', body });

export const accountPreferences = () => read<Api.AccountPreferences>('/account/preferences');
export const updateAccountPreferences = (body: Api.AccountPreferenceChanges) =>
  write<Api.AccountPreferences>({ method: 'PATCH', path: '/account/preferences', body });
export const updateAccount = (body: Api.AccountChanges) =>
  write({ method: 'PATCH', path: '/account', body });
export const requestAddressChange = (email: string) =>
  write({ method: 'POST', path: '/account/address-changes', body: { email } });
export const addressChange = (token: string) =>
  checkLink<Api.AddressChange>('/account/address-changes/check', token);
/** Ends all other sessions. */
export const changeAddress = (token: string) =>
  write<Api.ChangedAddress>({ method: 'PUT', path: '/account/address', body: { token } });
/** Ends all other sessions. */
export const changePassword = (body: Api.PasswordChange) =>
  write({ method: 'PUT', path: '/account/password', body });
export const accountDeletion = () => read<Api.AccountDeletion>('/account/deletion');
export const deleteAccount = (body: Api.AccountDeletionRequest) =>
  write({ method: 'POST', path: '/account/deletion', body });
export const accountMethods = () => readPage<Api.AccountMethod>('/account/methods');
export const addAccountMethod = (body: Api.ProviderRequest) =>
  write<Api.ProviderRedirect>({ method: 'POST', path: '/account/methods', body });
export const removeAccountMethod = (methodId: string) =>
  write({ method: 'DELETE', path: path('account', 'methods', methodId) });
export const accountSessions = () => readPage<Api.AccountSession>('/account/sessions');
export const endAccountSession = (sessionId: string) =>
  write({ method: 'DELETE', path: path('account', 'sessions', sessionId) });
export const endOtherAccountSessions = () => write({ method: 'DELETE', path: '/account/sessions' });
export const accountActivity = (query: PageQuery) =>
  readPage<Api.AccountActivityEntry>('/account/activity', query);

/** Reads by POST, to keep the token out of addresses. Never goes stale, because the form must not reload while in use. */
function checkLink<T>(checkPath: string, token: string) {
  return queryOptions({
    queryKey: [checkPath, { token }] as const,
    queryFn: async ({ signal }) =>
      (await call<Envelope<T>>({ method: 'POST', path: checkPath, body: { token }, signal })).data,
    staleTime: Infinity,
  });
}
export const secondFactor = () => read<Api.SecondFactorState>('/account/second-factor');
export const newPasskeyOptions = () =>
  write<Api.PasskeyOptions>({ method: 'POST', path: '/account/passkeys/options' });
export const addPasskey = (body: Api.NewPasskey) =>
  write<Api.AddedFactor>({ method: 'POST', path: '/account/passkeys', body });
export const updatePasskey = (passkeyId: string, body: Api.PasskeyChanges) =>
  write({ method: 'PATCH', path: path('account', 'passkeys', passkeyId), body });
export const removePasskey = (passkeyId: string) =>
  write({ method: 'DELETE', path: path('account', 'passkeys', passkeyId) });
export const setUpAuthenticator = () =>
  write<Api.NewAuthenticator>({ method: 'POST', path: '/account/authenticator' });
export const confirmAuthenticator = (body: Api.FactorCode) =>
  write<Api.AddedFactor>({ method: 'POST', path: '/account/authenticator/confirm', body });
export const removeAuthenticator = () =>
  write({ method: 'DELETE', path: '/account/authenticator' });
export const createRecoveryCodes = () =>
  write<Api.RecoveryCodes>({ method: 'POST', path: '/account/recovery-codes' });

export const proofMethods = () => read<Api.ProofMethods>('/account/proof');
export const proveWithPassword = (body: Api.CurrentPassword) =>
  write({ method: 'POST', path: '/account/proof/password', body });
export const proveWithAuthenticator = (body: Api.FactorCode) =>
  write({ method: 'POST', path: '/account/proof/authenticator', body });
export const mailProofCode = () => write({ method: 'POST', path: '/account/proof/mail' });
export const proveWithMailedCode = (body: Api.FactorCode) =>
  write({ method: 'POST', path: '/account/proof/mailed-code', body });
export const proofPasskeyOptions = () =>
  write<Api.PasskeyOptions>({ method: 'POST', path: '/account/proof/passkey/options' });
export const proveWithPasskey = (body: Api.PasskeyAssertion) =>
  write({ method: 'POST', path: '/account/proof/passkey', body });

async function write<T = unknown>(request: Call): Promise<T> {
  return (await call<Envelope<T>>(request)).data;
}

export const installation = () => read<Api.OperatorOverview>('/operator/overview');
export const allApps = (query: PageQuery & { search?: string }) =>
  readPage<Api.OperatorApp>('/operator/apps', query);
export const allAccounts = (query: PageQuery & { search?: string }) =>
  readPage<Api.OperatorAccount>('/operator/accounts', query);
export const allWebhooks = (
  query: PageQuery & { health?: Api.OperatorWebhook['health']; app?: string; id?: string },
) => readPage<Api.OperatorWebhook>('/operator/webhooks', query);
export const revealUrl = (webhookId: string, reason: string) =>
  write<Api.RevealedUrl>({
    method: 'POST',
    path: path('operator', 'webhooks', webhookId, 'url'),
    body: { reason },
  });
export const allKeys = (query: PageQuery & { search?: string }) =>
  readPage<Api.OperatorKey>('/operator/keys', query);
export const everyDelivery = (query: { status?: string; webhook?: string; before?: string }) =>
  readOlder<Api.OperatorDelivery>('/operator/deliveries', query);
export const everyChange = (query: {
  action?: string;
  subject?: string;
  app?: string;
  before?: string;
}) => readOlder<Api.OperatorAuditEntry>('/operator/audit', query);
export const refused = () => readOlder<Api.RefusedRow>('/operator/refused');
export const changeRefused = (verb: 'retry' | 'drop', ids: string[]) =>
  write<Api.ChangedRows>({
    method: 'POST',
    path: path('operator', 'refused', verb),
    body: { ids },
  });
export const checks = () => readPage<Api.OperatorCheck>('/operator/checks');
const quotasPath = (appId: string) => path('operator', 'apps', appId, 'quotas');
export const quotas = (appId: string) => readPage<Api.OperatorQuota>(quotasPath(appId));
export const changeQuotas = (appId: string, body: Api.QuotaChanges) =>
  write({ method: 'PATCH', path: quotasPath(appId), body });
export const announcements = () => readPage<Api.Announcement>('/operator/announcements');
export const announce = (body: Api.NewAnnouncement, idempotencyKey: string) =>
  write<Api.MadeAnnouncement>({
    method: 'POST',
    path: '/operator/announcements',
    body,
    idempotencyKey,
  });
export const endAnnouncement = (id: string) =>
  write({ method: 'DELETE', path: path('operator', 'announcements', id) });
export const maintenance = () => readEdited<Api.MaintenanceState>('/operator/maintenance');
export const changeMaintenance = (body: Api.MaintenanceChange, ifMatch: string | null) =>
  callEdited<Api.MaintenanceState>({
    method: 'PUT',
    path: '/operator/maintenance',
    body,
    ifMatch,
  });
export const syncRuns = (query: PageQuery) => readPage<Api.SyncRun>('/operator/syncs', query);
export const runSync = (kind: Api.SyncRun['kind']) =>
  write<Api.SyncRun>({ method: 'POST', path: path('operator', 'syncs', kind) });

export type Entries = {
  orgs: Api.ManagedOrganisation;
  alliances: Api.ManagedAllianceDetail;
  blueprints: Api.Blueprint;
};
/** An entry of any kind has these. */
export type ListedEntry = { id: string; slug: string; name: string; updatedAt: string } & {
  /** Of a blueprint. */
  key?: string;
  /** Of an organisation. */
  listed?: boolean;
};
export const entries = (kind: EntryKind, query: PageQuery & { search?: string }) =>
  readPage<ListedEntry>(path('operator', kind), query);
/** `name`: the slug, or the key of a blueprint. */
const entryPath = (kind: EntryKind, name: string) => path('operator', kind, name);
export const entry = <Kind extends EntryKind>(kind: Kind, name: string) =>
  readEdited<Entries[Kind]>(entryPath(kind, name));
export const updateEntry = <Kind extends EntryKind>(
  kind: Kind,
  name: string,
  body: object,
  ifMatch: string | null,
) => callEdited<Entries[Kind]>({ method: 'PATCH', path: entryPath(kind, name), body, ifMatch });
export const deleteEntry = (kind: EntryKind, name: string) =>
  write({ method: 'DELETE', path: entryPath(kind, name) });
export const allUsage = (query: PageQuery & { days: number }) =>
  readPage<Api.UsedApp>('/operator/usage', query);
export const settingsInForce = () => readPage<Api.OperatorSetting>('/operator/settings');

export type Suspendable = { kind: keyof typeof suspendableKinds; id: string };
const suspensionPath = ({ kind, id }: Suspendable) => path('operator', kind, id, 'suspension');
export const suspend = (what: Suspendable, reason: string) =>
  write<Api.ChangedSuspension>({ method: 'PUT', path: suspensionPath(what), body: { reason } });
export const restore = (what: Suspendable, query: { replay: boolean }) =>
  write<Api.ChangedSuspension>({ method: 'DELETE', path: suspensionPath(what), query });
