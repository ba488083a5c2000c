/** The webhooks of the key's app, and what was sent to them. Needs the scope `write:webhooks`. */
import type { Call, Connection, Query } from './connection.ts';
import type { RequestOptions } from './options.ts';
import { eachEntry, pageLimitMax, type AllQuery, type Loose, type Page } from './pages.ts';
import type {
  CreatedWebhook,
  DeletedWebhook,
  Delivery,
  DeliveryDetail,
  ListDeliveriesQuery,
  ListWebhooksQuery,
  WebhookInput,
  Recovered,
  RotateSecretRequest,
  Webhook,
  WebhookChanges,
  WebhookTestRequest,
} from './types.ts';

export type Webhooks = {
  list(query?: Loose<ListWebhooksQuery>, options?: RequestOptions): Promise<Page<Webhook>>;
  /** Every webhook, page after page. */
  all(
    query?: Loose<AllQuery<ListWebhooksQuery>>,
    options?: RequestOptions,
  ): AsyncGenerator<Webhook, void, undefined>;
  get(id: string, options?: RequestOptions): Promise<Webhook>;
  /** The answer holds `secret`, this once. */
  create(webhook: WebhookInput, options?: RequestOptions): Promise<CreatedWebhook>;
  update(id: string, changes: WebhookChanges, options?: RequestOptions): Promise<Webhook>;
  /** Ends what is pending. `not_found` after a retry says that the first attempt had done it. */
  delete(id: string, options?: RequestOptions): Promise<DeletedWebhook>;
  /**
   * Sends a test now, also to a deactivated webhook, and resolves with what became of it. Waits for 45 s unless
   * `options` say otherwise: the service waits for the receiver.
   */
  test(id: string, request?: WebhookTestRequest, options?: RequestOptions): Promise<DeliveryDetail>;
  /** The answer holds the new `secret`, this once. The old one stays valid for `overlapSeconds`, a day by default. */
  rotateSecret(
    id: string,
    request?: RotateSecretRequest,
    options?: RequestOptions,
  ): Promise<CreatedWebhook>;
  /** Sends again what failed or was cancelled by a deactivation since then, at most 14 days ago. */
  recover(
    id: string,
    request: { since: string | Date },
    options?: RequestOptions,
  ): Promise<Recovered>;
  deliveries: Deliveries;
};

export type DeliveriesQuery = Loose<Omit<ListDeliveriesQuery, 'since' | 'until'>> & {
  /** Only those queued at this time or later. */
  since?: string | Date | undefined;
  /** Only those queued before this time. */
  until?: string | Date | undefined;
};

export type Deliveries = {
  list(
    webhookId: string,
    query?: DeliveriesQuery,
    options?: RequestOptions,
  ): Promise<Page<Delivery>>;
  /** Every delivery, page after page, the newest first; new ones meanwhile push others to the next page. */
  all(
    webhookId: string,
    query?: AllQuery<DeliveriesQuery>,
    options?: RequestOptions,
  ): AsyncGenerator<Delivery, void, undefined>;
  /** With its body and every attempt. */
  get(webhookId: string, id: string, options?: RequestOptions): Promise<DeliveryDetail>;
  /** The same delivery once more, with up to six attempts. Rejects with `conflict` while it is pending. */
  redeliver(webhookId: string, id: string, options?: RequestOptions): Promise<DeliveryDetail>;
};

/** The service waits for the receiver, for up to 30 s. */
const testTimeoutMs = 45_000;

export function webhooks(connection: Connection): Webhooks {
  const { send } = connection;
  const root = 'webhooks';
  const one = async <T>(call: Call) => (await send<{ data: T }>(call)).data;
  const post = <T>(path: string[], body?: object, options?: RequestOptions) =>
    one<T>({ method: 'POST', path: [root, ...path], body, options });

  return {
    list: (query, options) => send({ path: [root], query, options }),
    all: (query, options) =>
      eachEntry((page) =>
        send({ path: [root], query: { limit: pageLimitMax, ...query, page }, options }),
      ),
    get: (id, options) => one({ path: [root, id], options }),
    create: (webhook, options) => post([], webhook, options),
    update: (id, changes, options) =>
      one({ method: 'PATCH', path: [root, id], body: changes, options }),
    delete: (id, options) => one({ method: 'DELETE', path: [root, id], options }),
    test: (id, request, options) =>
      post([id, 'test'], request, { timeoutMs: testTimeoutMs, ...options }),
    rotateSecret: (id, request, options) => post([id, 'rotate-secret'], request, options),
    // A Date becomes text as JSON writes it, which is what the service reads.
    recover: (id, request, options) => post([id, 'recover'], request, options),
    deliveries: {
      list: (id, query, options) => send({ path: [root, id, 'deliveries'], query, options }),
      all: (id, query, options) =>
        eachEntry((page) =>
          send({
            path: [root, id, 'deliveries'],
            query: { limit: pageLimitMax, ...(query as Query), page },
            options,
          }),
        ),
      get: (id, delivery, options) => one({ path: [root, id, 'deliveries', delivery], options }),
      redeliver: (id, delivery, options) =>
        post([id, 'deliveries', delivery, 'redeliver'], undefined, options),
    },
  };
}
