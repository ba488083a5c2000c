import { openConnection } from './connection.ts';
import { directory, type Alliances, type Blueprints, type Orgs } from './directory.ts';
import { events, type Events } from './events.ts';
import type { ClientOptions, RequestOptions } from './options.ts';
import type { OpenApiDocument, Status } from './types.ts';
import { webhooks, type Webhooks } from './webhooks.ts';

/** A service, as one key sees it. */
export type Client = {
  /** How the service is. Needs no key. */
  status(options?: RequestOptions): Promise<Status>;
  /** The description of the API, OpenAPI 3.1. Needs no key. */
  openApi(options?: RequestOptions): Promise<OpenApiDocument>;
  orgs: Orgs;
  alliances: Alliances;
  blueprints: Blueprints;
  events: Events;
  webhooks: Webhooks;
};

/**
 * Makes a client. Every method rejects with an `OrgdirError`: `ApiError` where the service said no, `TimeoutError` and
 * `NetworkError` where no answer came, `UnexpectedAnswerError` where something else answered; where a signal aborts,
 * with its reason. Throws `TypeError` or `RangeError` where the options are wrong.
 */
export function createClient(options: ClientOptions): Client {
  const connection = openConnection(options);
  return {
    status: async (requestOptions) =>
      (await connection.send<{ data: Status }>({ path: ['status'], options: requestOptions })).data,
    openApi: (requestOptions) =>
      connection.send({ path: ['openapi.json'], options: requestOptions }),
    orgs: directory(connection, 'orgs'),
    alliances: directory(connection, 'alliances'),
    blueprints: directory(connection, 'blueprints'),
    events: events(connection),
    webhooks: webhooks(connection),
  };
}
