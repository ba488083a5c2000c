/** The webhooks of the key's app and their deliveries. Requires the scope `write:webhooks`. */
import type { Call, Connection, Query } from './connection.ts';
import type { RequestOptions } from './options.ts';
import { eachEntry, pageLimitMax, type AllQuery, type Loose, type Page } from './pages.ts';
import type {
  CreatedWebhook,
  DeletedWebhook,
  Delivery,
  DeliveryDetail,
  ExplainTimeQuery,
  Explanation,
  ListDeliveriesQuery,
  ListWebhooksQuery,
  WebhookInput,
  Recovered,
  Replayed,
  RotateSecretRequest,
  Webhook,
  WebhookChanges,
  WebhookTestRequest,
} from './types.ts';

export type Webhooks = {
  list(query?: Loose<ListWebhooksQuery>, options?: RequestOptions): Promise<Page<Webhook>>;
  /** Iterates over all webhooks, page by page. */
  all(
    query?: Loose<AllQuery<ListWebhooksQuery>>,
    options?: RequestOptions,
  ): AsyncGenerator<Webhook, void, undefined>;
  get(id: string, options?: RequestOptions): Promise<Webhook>;
  /**
   * Only this response has the `secret`. With an `idempotencyKey`, such as a UUID that you have stored, a repeated call
   * returns the same response for ten minutes instead of creating another webhook, so a lost response is retried.
   */
  create(
    webhook: WebhookInput,
    options?: RequestOptions & { idempotencyKey?: string | undefined },
  ): Promise<CreatedWebhook>;
  update(id: string, changes: WebhookChanges, options?: RequestOptions): Promise<Webhook>;
  /** Cancels pending deliveries. `not_found` after a retry means that the first attempt succeeded. */
  delete(id: string, options?: RequestOptions): Promise<DeletedWebhook>;
  /**
   * Sends a test, also to a deactivated webhook, and returns the result. Waits up to 45 s by default, because the
   * service waits for the receiver.
   */
  test(id: string, request?: WebhookTestRequest, options?: RequestOptions): Promise<DeliveryDetail>;
  /**
   * Only this response has the new `secret`. The old one stays valid for `overlapSeconds`, a day by default. With an
   * `idempotencyKey`, a repeated call gets the same secret; without one, it would end the secret that is in use.
   */
  rotateSecret(
    id: string,
    request?: RotateSecretRequest,
    options?: RequestOptions & { idempotencyKey?: string | undefined },
  ): Promise<CreatedWebhook>;
  /** Redelivers deliveries that failed or were cancelled by a deactivation since then, at most 14 days ago. */
  recover(
    id: string,
    request: { since: string | Date },
    options?: RequestOptions,
  ): Promise<Recovered>;
  /**
   * Queues what the webhook missed in a time range: failed deliveries, those that a deactivation cancelled, and events
   * without a delivery. With `dryRun` it only counts.
   */
  replay(
    id: string,
    request: { since: string | Date; until?: string | Date; dryRun?: boolean },
    options?: RequestOptions,
  ): Promise<Replayed>;
  /** Says why the webhook did or did not get an event. */
  explain(id: string, eventId: string, options?: RequestOptions): Promise<Explanation>;
  /** The same for an event whose id you do not know. */
  explainTime(id: string, query: ExplainQuery, options?: RequestOptions): Promise<Explanation>;
  deliveries: Deliveries;
};

/** An event by its name, the slug of its subject and its time. */
export type ExplainQuery = Omit<ExplainTimeQuery, 'at'> & { at: string | Date };

export type DeliveriesQuery = Loose<Omit<ListDeliveriesQuery, 'since' | 'until'>> & {
  /** Return only deliveries queued at this time or later. */
  since?: string | Date | undefined;
  /** Return only deliveries queued before this time. */
  until?: string | Date | undefined;
};

export type Deliveries = {
  list(
    webhookId: string,
    query?: DeliveriesQuery,
    options?: RequestOptions,
  ): Promise<Page<Delivery>>;
  /** Iterates over all deliveries, newest first. New ones push others to the next page. */
  all(
    webhookId: string,
    query?: AllQuery<DeliveriesQuery>,
    options?: RequestOptions,
  ): AsyncGenerator<Delivery, void, undefined>;
  /** Returns a delivery with its body and attempts. */
  get(webhookId: string, id: string, options?: RequestOptions): Promise<DeliveryDetail>;
  /** Sends the delivery again, with up to six attempts. Rejects with `conflict` while it is pending. */
  redeliver(webhookId: string, id: string, options?: RequestOptions): Promise<DeliveryDetail>;
};

/** The service waits up to 30 s for the receiver. */
export const testTimeoutMs = 45_000;

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
    create: (webhook, { idempotencyKey, ...options } = {}) =>
      one({ method: 'POST', path: [root], body: webhook, idempotencyKey, options }),
    update: (id, changes, options) =>
      one({ method: 'PATCH', path: [root, id], body: changes, options }),
    delete: (id, options) => one({ method: 'DELETE', path: [root, id], options }),
    test: (id, request, options) =>
      post([id, 'test'], request, { timeoutMs: testTimeoutMs, ...options }),
    rotateSecret: (id, request, { idempotencyKey, ...options } = {}) =>
      one({
        method: 'POST',
        path: [root, id, 'rotate-secret'],
        body: request,
        idempotencyKey,
        options,
      }),
    // JSON writes a Date as the text that the service expects.
    recover: (id, request, options) => post([id, 'recover'], request, options),
    replay: (id, request, options) => post([id, 'replay'], request, options),
    explain: (id, eventId, options) => one({ path: [root, id, 'explain', eventId], options }),
    explainTime: (id, query, options) =>
      one({ method: 'GET', path: [root, id, 'explain'], query, options }),
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
