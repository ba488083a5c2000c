/** Starts receivers in a process of their own, which record requests or count them, and reads their records. */
import { join } from 'node:path';
import type { ChatFormat } from '../service/src/contract/delivery-rules.ts';
import { startProcess } from './start-process.ts';

export type Behaviour =
  | 'prompt'
  /** Responds with 200 after up to 200 ms. */
  | 'slow'
  /** Responds with 200 after so many milliseconds. */
  | `after-${number}`
  | 'error'
  /** Responds with 503 to so many attempts of each delivery, then with 204. */
  | `fails-${number}`
  | 'hung'
  | 'reset'
  /** Responds with 200 and 500 in turn. */
  | 'alternating'
  /** Resets a connection when it is used again. */
  | 'fickle'
  /** Accepts probes after a moment, and responds to everything else with 500. */
  | 'probes';

export type Kind = {
  /** The first part of the webhooks' paths; default: the behaviour. */
  name?: string;
  behaviour: Behaviour;
  webhooks: number;
  event: string;
  /** Over TLS, with a certificate of the tests' authority. */
  tls?: true;
  /** Each webhook hears an alliance of its own, so an event goes to one of them. */
  ownAlliances?: true;
} & Features;

/** What deliveries of a webhook may differ in. */
type Features = {
  /** Its filter lets only common events pass of requests whose ids begin like this. */
  idPrefix?: string;
  /** Its deliveries have `ownHeader`. */
  hasOwnHeader?: true;
  /** It posts into a chat channel. */
  format?: ChatFormat;
};

/** The record of a request. */
export type Received = {
  /** Empty in a message to a chat channel. */
  deliveryId: string;
  webhookPath: string;
  at: number;
  /** The IP address of the sender. */
  from: string;
  /** SHA-256 of the body, in hex. */
  digest: string;
  body: string;
  /** Whether both signatures verify. */
  signed: boolean;
  /** Whether it has `ownHeader`. */
  hasOwnHeader: boolean;
  /** The status of the response; null if there was none. */
  status: number | null;
};

/** What receivers have counted since they were reset. */
export type Tally = {
  /** Requests that were answered. An event that contains its time of publishing counts once per delivery. */
  count: number;
  duplicates: number;
  lastAt: number;
  /** From publishing to receipt, of the events that contain their time of publishing. */
  latenciesMs: number[];
  /** From a refused attempt to the next one. */
  retriesMs: number[];
};

export type Question =
  /** The secret of each webhook by its path, to verify signatures. */
  | { do: 'expect'; secrets: Record<string, string> }
  | { do: 'heal' }
  | { do: 'hang'; path: string }
  | { do: 'reset' }
  /** Waits until so many have arrived from now on, or since the reset. */
  | { do: 'wait'; count: number; since: 'now' | 'reset' }
  | { do: 'report' }
  | { do: 'tally' };

export type Setup = {
  host: string;
  servers: { tls: boolean }[];
  /** By the first part of a path; a name that is not here is that of a behaviour. */
  behaviours: Record<string, Behaviour>;
  /** Whether requests are recorded instead of counted. */
  records: boolean;
};

/** The alliance that events of scenarios are about. */
export const allianceSlug = 'night-watch';
/** Part of every payload, response and webhook URL of scenarios, none of which may be logged. */
export const marker = 'payload-marker-6f1c';
/** A header of the owner. */
export const ownHeader = { name: 'X-Tenant', value: marker };

export type Receivers = Awaited<ReturnType<typeof startReceivers>>;
export type ReceiverAddress = Features & {
  event: string;
  alliance: string;
  path: string;
  url: string;
};

/** One server for each kind. They record everything that they get. */
export async function startReceivers(
  kinds: readonly Kind[],
  cleanUps: AsyncDisposableStack,
  host = '127.0.0.1',
) {
  const servers = kinds.map(({ tls = false }) => ({ tls }));
  const behaviours = Object.fromEntries(
    kinds.map(({ behaviour, name = behaviour }) => [name, behaviour]),
  );
  const { ask, ports } = await start({ host, servers, behaviours, records: true }, cleanUps);
  return {
    addresses: kinds.flatMap((kind, index) => addressesOf(kind, `${host}:${ports[index]}`)),
    /** Sets the secret of each webhook by its path. Call it before anything is sent. */
    expect: (secrets: Record<string, string>) => ask({ do: 'expect', secrets }),
    /** From now on every receiver responds with 200 at once. */
    heal: () => ask({ do: 'heal' }),
    /** From now on the receivers whose paths begin like this respond no more, until all are healed. */
    hang: (path: string) => ask({ do: 'hang', path }),
    /** Resolves after this many more requests. */
    more: (count: number) => ask({ do: 'wait', count, since: 'now' }),
    /** All requests received so far. */
    report: () => ask<Received[]>({ do: 'report' }),
  };
}

async function start(setup: Setup, cleanUps: AsyncDisposableStack) {
  const file = join(import.meta.dirname, 'receivers-process.ts');
  const process = startProcess(file, { args: [JSON.stringify(setup)], answers: true });
  cleanUps.defer(() => process.kill());
  const ports = await process.ready<number[]>();
  return { ports, ask: <T = null>(question: Question) => process.ask<T>(question) };
}

function addressesOf(kind: Kind, host: string): ReceiverAddress[] {
  const { behaviour, name = behaviour, webhooks, tls, ownAlliances, ...features } = kind;
  return Array.from({ length: webhooks }, (_, number) => {
    const path = `/${name}/${number}`;
    return {
      ...features,
      alliance: ownAlliances ? `${allianceSlug}-${number}` : allianceSlug,
      path,
      url: `${tls ? 'https' : 'http'}://${host}${path}?token=${marker}`,
    };
  });
}
