/** The behaviours of receivers, and the webhooks of the large scenarios. */
export type Behaviour =
  | 'prompt'
  | 'slow'
  | 'error'
  | 'recovering'
  | 'hung'
  | 'reset'
  /** Responds with 200 after nine seconds, just within the default deadline. */
  | 'late'
  /** Responds with 200 and 500 in turn. */
  | 'alternating'
  /** Resets a connection when it is used again. */
  | 'fickle'
  /** Accepts probes after a moment, and responds to everything else with 500. */
  | 'probes';

/** Every webhook gets one of the two events. Those whose attempts time out get the rare one. */
export const commonEvent = 'resource.request.created';
export const rareEvent = 'resource.offer.created';

export type Kind = {
  /** The first part of the webhooks' paths, if several kinds have one behaviour; default: the behaviour. */
  name?: string;
  behaviour: Behaviour;
  webhooks: number;
  event: typeof commonEvent | typeof rareEvent;
  /** Over TLS, with a certificate of the tests' authority. */
  tls?: true;
  /** Each webhook hears an alliance of its own, so an event goes to one of them. */
  ownAlliances?: true;
};

/** With 200 common and 10 rare events, 50 and 7 webhooks get 10,070 deliveries. */
export const mixedKinds: readonly Kind[] = [
  { behaviour: 'prompt', webhooks: 40, event: commonEvent },
  { behaviour: 'slow', webhooks: 6, event: commonEvent, tls: true },
  { behaviour: 'error', webhooks: 2, event: commonEvent },
  { behaviour: 'recovering', webhooks: 2, event: commonEvent },
  { behaviour: 'hung', webhooks: 4, event: rareEvent },
  { behaviour: 'reset', webhooks: 3, event: rareEvent },
];

/** The alliance that events are about. */
export const allianceSlug = 'night-watch';

/** Part of every payload, response and webhook URL, none of which may be logged. */
export const marker = 'payload-marker-6f1c';
