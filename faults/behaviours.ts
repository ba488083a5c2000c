/** How the receivers of a scenario behave, how many webhooks each behaviour has, and which event they ask for. */
export type Behaviour = 'prompt' | 'slow' | 'error' | 'recovering' | 'hung' | 'reset';

/** Every webhook gets one of the two: those that cost a deadline for each attempt get few. */
export const commonEvent = 'resource.request.created';
export const rareEvent = 'resource.offer.created';

type Kind = {
  behaviour: Behaviour;
  webhooks: number;
  event: typeof commonEvent | typeof rareEvent;
};

/** Fifty and seven: two hundred common events and ten rare ones make 10,070 deliveries. */
export const kinds: readonly Kind[] = [
  { behaviour: 'prompt', webhooks: 40, event: commonEvent },
  { behaviour: 'slow', webhooks: 6, event: commonEvent },
  { behaviour: 'error', webhooks: 2, event: commonEvent },
  { behaviour: 'recovering', webhooks: 2, event: commonEvent },
  { behaviour: 'hung', webhooks: 4, event: rareEvent },
  { behaviour: 'reset', webhooks: 3, event: rareEvent },
];

/** Stands in every payload, in every answer and in every webhook's address: none of them belongs into a log. */
export const marker = 'payload-marker-6f1c';
