/** The behaviours of receivers, the number of webhooks of each, and their events. */
export type Behaviour = 'prompt' | 'slow' | 'error' | 'recovering' | 'hung' | 'reset';

/** Every webhook gets one of the two events. Those whose attempts time out get the rare one. */
export const commonEvent = 'resource.request.created';
export const rareEvent = 'resource.offer.created';

type Kind = {
  behaviour: Behaviour;
  webhooks: number;
  event: typeof commonEvent | typeof rareEvent;
};

/** With 200 common and 10 rare events, 50 and 7 webhooks get 10,070 deliveries. */
export const kinds: readonly Kind[] = [
  { behaviour: 'prompt', webhooks: 40, event: commonEvent },
  { behaviour: 'slow', webhooks: 6, event: commonEvent },
  { behaviour: 'error', webhooks: 2, event: commonEvent },
  { behaviour: 'recovering', webhooks: 2, event: commonEvent },
  { behaviour: 'hung', webhooks: 4, event: rareEvent },
  { behaviour: 'reset', webhooks: 3, event: rareEvent },
];

/** Part of every payload, response and webhook URL, none of which may be logged. */
export const marker = 'payload-marker-6f1c';
