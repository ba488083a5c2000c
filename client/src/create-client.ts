import { openConnection } from './connection.ts';
import { directory, type Alliances, type Blueprints, type Orgs } from './directory.ts';
import { events, type Events } from './events.ts';
import { mirror, type MirrorOptions } from './mirror.ts';
import type { ClientOptions, RequestOptions } from './options.ts';
import type { OpenApiDocument, ServiceStatus, Suggestion } from './types.ts';
import { webhooks, type Webhooks } from './webhooks.ts';

/** A client of one service with one key. */
export type Client = {
  /** The status of the service. Requires no key. */
  status(options?: RequestOptions): Promise<ServiceStatus>;
  /** The OpenAPI 3.1 document of the API. Requires no key. */
  openApi(options?: RequestOptions): Promise<OpenApiDocument>;
  /** Returns up to eight entries of all kinds that match what somebody types. Requires `read:directory`. */
  suggest(text: string, options?: RequestOptions): Promise<Suggestion[]>;
  orgs: Orgs;
  alliances: Alliances;
  blueprints: Blueprints;
  events: Events;
  webhooks: Webhooks;
  /**
   * Keeps a copy right, over lost connections and restarts: downloads everything where `store` has no cursor, or one that is too old,
   * and then applies changes as they come. It never resolves; it rejects with the reason of a signal that aborts, or with an
   * error that is permanent or the store's. Requires `read:directory`.
   */
  mirror(options: MirrorOptions): Promise<never>;
};

/**
 * Creates a client. Its methods reject with an `OrgdirError`: `ApiError` if the service responds with an error,
 * `TimeoutError` and `NetworkError` if there is no response, `UnexpectedResponseError` if the response is not the
 * service's. If a signal aborts, they reject with its reason. Throws `TypeError` or `RangeError` for invalid options.
 */
export function createClient(options: ClientOptions): Client {
  const connection = openConnection(options);
  const lists: Pick<Client, 'orgs' | 'alliances' | 'blueprints'> = {
    orgs: directory(connection, 'orgs'),
    alliances: directory(connection, 'alliances'),
    blueprints: directory(connection, 'blueprints'),
  };
  return {
    status: async (requestOptions) =>
      (
        await connection.send<{ data: ServiceStatus }>({
          path: ['status'],
          options: requestOptions,
        })
      ).data,
    openApi: (requestOptions) =>
      connection.send({ path: ['openapi.json'], options: requestOptions }),
    suggest: async (text, requestOptions) =>
      (
        await connection.send<{ data: Suggestion[] }>({
          path: ['suggest'],
          query: { q: text },
          options: requestOptions,
        })
      ).data,
    ...lists,
    events: events(connection),
    webhooks: webhooks(connection),
    mirror: (mirrorOptions) => mirror(connection, lists, mirrorOptions),
  };
}
