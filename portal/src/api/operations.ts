/** Declares every operation of the portal API once, with its request and response. */
import { queryOptions } from '@tanstack/react-query';
import { call, isUnauthorized, path, type Answer, type Call } from './call.ts';
import { read, readPage } from './read.ts';
import type {
  AccountActivityEntry,
  AccountChanges,
  AccountMethod,
  AccountSession,
  AppChanges,
  Bindable,
  CatalogueEvent,
  ChosenPassword,
  CreatedKey,
  CreatedWebhook,
  Credentials,
  Delivery,
  DeliveryDetail,
  FirstAccount,
  ListBindableQuery,
  ListDeliveriesQuery,
  NewApp,
  NewBinding,
  NewFirstAccount,
  NewKey,
  WebhookInput,
  Overview,
  PasswordChange,
  PasswordLink,
  PasswordSet,
  PortalApp,
  PortalAuditEntry,
  PortalEvent,
  PortalKey,
  PortalSession,
  ProviderRedirect,
  ProviderRequest,
  Recovered,
  RotatedKey,
  Webhook,
  WebhookChanges,
} from './types.ts';

type PageQuery = { page?: number; limit?: number };
export type WebhookId = { appId: string; webhookId: string };
export type DeliveryId = WebhookId & { deliveryId: string };

const appPath = (appId: string) => path('apps', appId);
const keysPath = (appId: string) => path('apps', appId, 'keys');
const webhooksPath = (appId: string) => path('apps', appId, 'webhooks');
const webhookPath = ({ appId, webhookId }: WebhookId) => path('apps', appId, 'webhooks', webhookId);
const deliveryPath = ({ deliveryId, ...webhook }: DeliveryId) =>
  `${webhookPath(webhook)}${path('deliveries', deliveryId)}`;

export const overview = () => read<Overview>('/overview');

/** All apps, because an owner has at most ten. */
export const apps = () => readPage<PortalApp>('/apps');
export const app = (appId: string) => read<PortalApp>(appPath(appId));
export const createApp = (body: NewApp) =>
  write<PortalApp>({ method: 'POST', path: '/apps', body });
export const updateApp = (appId: string, body: AppChanges) =>
  write<PortalApp>({ method: 'PATCH', path: appPath(appId), body });
export const deleteApp = (appId: string) => write({ method: 'DELETE', path: appPath(appId) });

export const bindable = (query: ListBindableQuery) => readPage<Bindable>('/bindable', { ...query });
export const bindApp = (appId: string, body: NewBinding) =>
  write<PortalApp>({ method: 'PUT', path: `${appPath(appId)}/binding`, body });
export const unbindApp = (appId: string) =>
  write<PortalApp>({ method: 'DELETE', path: `${appPath(appId)}/binding` });

export const keys = (appId: string, query: PageQuery = {}) =>
  readPage<PortalKey>(keysPath(appId), query);
export const createKey = (appId: string, body: NewKey) =>
  write<CreatedKey>({ method: 'POST', path: keysPath(appId), body });
export const revokeKey = (appId: string, keyId: string) =>
  write<PortalKey>({ method: 'DELETE', path: `${keysPath(appId)}${path(keyId)}` });
export const rotateKey = (appId: string, keyId: string, overlapSeconds: number) =>
  write<RotatedKey>({
    method: 'POST',
    path: `${keysPath(appId)}${path(keyId)}/rotate`,
    body: { overlapSeconds },
  });

export const webhooks = (appId: string, query: PageQuery = {}) =>
  readPage<Webhook>(webhooksPath(appId), query);
export const webhook = (id: WebhookId) => read<Webhook>(webhookPath(id));
export const createWebhook = (appId: string, body: WebhookInput) =>
  write<CreatedWebhook>({ method: 'POST', path: webhooksPath(appId), body });
export const updateWebhook = (id: WebhookId, body: WebhookChanges) =>
  write<Webhook>({ method: 'PATCH', path: webhookPath(id), body });
export const deleteWebhook = (id: WebhookId) => write({ method: 'DELETE', path: webhookPath(id) });
/** `event` null: a test without a sample. */
export const testWebhook = (id: WebhookId, event: string | null) =>
  write<DeliveryDetail>({
    method: 'POST',
    path: `${webhookPath(id)}/test`,
    body: event === null ? {} : { event },
  });
export const rotateWebhookSecret = (id: WebhookId, overlapSeconds: number) =>
  write<CreatedWebhook>({
    method: 'POST',
    path: `${webhookPath(id)}/rotate-secret`,
    body: { overlapSeconds },
  });

export const deliveries = (id: WebhookId, query: ListDeliveriesQuery = {}) =>
  readPage<Delivery>(`${webhookPath(id)}/deliveries`, { ...query });
export const delivery = (id: DeliveryId) => read<DeliveryDetail>(deliveryPath(id));
export const redeliver = (id: DeliveryId) =>
  write<DeliveryDetail>({ method: 'POST', path: `${deliveryPath(id)}/redeliver` });
/** `since`: RFC 3339. */
export const recover = (id: WebhookId, since: string) =>
  write<Recovered>({ method: 'POST', path: `${webhookPath(id)}/recover`, body: { since } });

export const catalogue = () => readPage<CatalogueEvent>('/events');
export const events = (appId: string) => readPage<PortalEvent>(`${appPath(appId)}/events`);
export const audit = (query: PageQuery & { app?: string }) =>
  readPage<PortalAuditEntry>('/audit', query);

/** Null: nobody is signed in. */
export async function readSession(signal?: AbortSignal): Promise<PortalSession | null> {
  try {
    const answer = await call<Answer<PortalSession>>({
      path: '/session',
      ...(signal && { signal }),
    });
    return answer.data;
  } catch (error) {
    if (isUnauthorized(error)) return null;
    throw error;
  }
}
/** False: the address or the password is wrong. */
export async function signIn(body: Credentials): Promise<boolean> {
  try {
    await write({ method: 'POST', path: '/sign-in', body });
    return true;
  } catch (error) {
    if (isUnauthorized(error)) return false;
    throw error;
  }
}
export const signInWithProvider = (body: ProviderRequest) =>
  write<ProviderRedirect>({ method: 'POST', path: '/sign-in/provider', body });
export const signOut = () => write({ method: 'POST', path: '/sign-out' });
export const createFirstAccount = (body: NewFirstAccount) =>
  write<FirstAccount>({ method: 'POST', path: '/first-account', body });

export const requestPasswordLink = (email: string) =>
  write({ method: 'POST', path: '/password-links', body: { email } });
/** Reads by POST, to keep the token out of addresses. Never goes stale, because the form must not reload while in use. */
export const passwordLink = (token: string) =>
  queryOptions({
    queryKey: ['/password-links/check', { token }] as const,
    queryFn: async ({ signal, queryKey: [checkPath, body] }) =>
      (await call<Answer<PasswordLink>>({ method: 'POST', path: checkPath, body, signal })).data,
    staleTime: Infinity,
  });
export const setPassword = (body: ChosenPassword) =>
  write<PasswordSet>({ method: 'POST', path: '/password', body });

export const updateAccount = (body: AccountChanges) =>
  write({ method: 'PATCH', path: '/account', body });
/** Ends all other sessions. */
export const changePassword = (body: PasswordChange) =>
  write({ method: 'PUT', path: '/account/password', body });
export const accountMethods = () => readPage<AccountMethod>('/account/methods');
export const addAccountMethod = (body: ProviderRequest) =>
  write<ProviderRedirect>({ method: 'POST', path: '/account/methods', body });
export const removeAccountMethod = (methodId: string) =>
  write({ method: 'DELETE', path: path('account', 'methods', methodId) });
export const accountSessions = () => readPage<AccountSession>('/account/sessions');
export const endAccountSession = (sessionId: string) =>
  write({ method: 'DELETE', path: path('account', 'sessions', sessionId) });
export const endOtherAccountSessions = () => write({ method: 'DELETE', path: '/account/sessions' });
export const accountActivity = (query: PageQuery) =>
  readPage<AccountActivityEntry>('/account/activity', query);

async function write<T = unknown>(request: Call): Promise<T> {
  return (await call<Answer<T>>(request)).data;
}
