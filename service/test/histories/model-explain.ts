/** Why a webhook did or did not get an event, written from docs/reference/deliveries.md#explain-a-delivery alone. */
import type { Explanation } from '../../src/contract/explanation.ts';
import { mayHave, passes } from './may-have.ts';
import type { Rules } from './rules.ts';
import { Disagreement, type Event, type Routing, type State } from './state.ts';

/** The settings that decide, as they are now. */
export function routingOf(state: State, event: Event, alone: boolean): Routing {
  const webhooks = new Map(
    [...state.webhooks.values()].map((webhook) => [
      webhook.key,
      {
        active: webhook.active,
        subscribed: webhook.events === null || webhook.events.includes(event.name),
        passed: passes(webhook, event),
      },
    ]),
  );
  const listed = [...state.orgs.values()].some((org) => org.key === event.subject && org.listed);
  return { listed, webhooks, raced: !alone };
}

export const explainRules: Rules<'explain'> = {
  explain(state, { webhook }, { observation: { explained } }) {
    const found = state.webhooks.get(webhook);
    if (!found || !explained) throw new Disagreement('nothing was explained');
    for (const [index, event] of state.events.entries()) {
      const actual = explained.events.get(event.stored?.id ?? '');
      if (!actual) continue;
      const delivery = state.deliveries.get(`${index}/${found.key}`);
      const known = delivery !== undefined || mayHave(state, event, found.app);
      // Only events that an app may read are explained.
      if (!known || event.name === 'webhook.probe') same(event, actual, explained.missing);
      else if (delivery)
        same(
          event,
          { result: actual.result, id: actual.delivery?.id, status: actual.delivery?.status },
          { result: 'delivered', id: delivery.id, status: delivery.status },
        );
      else if (!(event.routing?.raced && actual.result === 'unknown')) {
        const { result, checks, unknown } = actual;
        same(event, { result, checks, unknown }, notSent(event, found.key));
      }
    }
  },
};

function notSent(
  event: Event,
  webhook: string,
): Pick<Explanation, 'result' | 'checks' | 'unknown'> {
  const { routing, name } = event;
  const settings = routing?.webhooks.get(webhook);
  const isGlobal = !/^(application|event|resource)/.test(name);
  return {
    result: routing ? 'not_sent' : 'waiting',
    checks: {
      bound: isGlobal || !routing ? null : true,
      listed: name === 'org.created' && routing ? routing.listed : null,
      existed: routing ? settings !== undefined : null,
      active: settings?.active ?? null,
      subscribed: settings?.subscribed ?? null,
      passed: settings?.passed ?? null,
    },
    unknown: [],
  };
}

function same(event: Event, actual: object, expected: object): void {
  const [found, wanted] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (found !== wanted)
    throw new Disagreement(`the explanation of ${event.name} is ${found}, not ${wanted}`);
}
