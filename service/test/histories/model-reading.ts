/** What an app may read: the bodies of its deliveries, and events. */
import { templateVersion } from '../../src/events/message.ts';
import { renderMessage } from '../../src/webhooks/sending/render-message.ts';
import { mayHave } from './may-have.ts';
import { bodyOf } from './model-claim.ts';
import type { Rules } from './rules.ts';
import { eventOf } from './model-deliveries.ts';
import { isChat } from './naming.ts';
import { Disagreement, requireThat, type Delivery, type State } from './state.ts';

export const readingRules: Rules<'read-delivery' | 'pull'> = {
  'read-delivery'(state, { webhook }, { observation }) {
    const delivery = state.deliveries.get(observation.chosen ?? '');
    requireThat(state.webhooks.has(webhook) && delivery);
    const expected = mayHave(state, eventOf(state, delivery), delivery.app)
      ? shownBodyOf(state, webhook, delivery)
      : null;
    if (observation.body !== expected)
      throw new Disagreement(`the body reads ${observation.body}, not ${expected}`);
  },
  pull(state, { app, limit, event }, { observation: { page } }) {
    const reader = state.apps.get(app)?.key;
    if (reader === undefined || !page) return;
    const { upTo } = state.readers.get(reader) ?? { upTo: 0 };
    const found = [...state.fannedOut.entries()].slice(upTo).flatMap(([place, index]) => {
      const one = state.events[index];
      return one && (event === null || one.name === event) && mayHave(state, one, reader)
        ? [{ place, one }]
        : [];
    });
    const shown = found.slice(0, limit);
    const reached = (shown.at(-1)?.place ?? upTo - 1) + 1;
    const expected = {
      ids: shown.map(({ one }) => one.stored?.id),
      data: shown.map(({ one }) => one.stored?.data),
      hasMore: found.length > limit,
    };
    const { nextCursor, ...actual } = page;
    if (
      JSON.stringify({ ids: actual.ids, data: actual.data, hasMore: actual.hasMore }) !==
      JSON.stringify(expected)
    )
      throw new Disagreement(
        `/events gives ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`,
      );
    state.readers.set(reader, { upTo: reached, cursor: nextCursor });
  },
};

/** The bytes of a delivery, and of one to a chat channel its message. */
function shownBodyOf(state: State, webhook: number, delivery: Delivery): string | null {
  if (!isChat(webhook)) return bodyOf(state, delivery);
  const { name, stored } = eventOf(state, delivery);
  if (!stored) return null;
  const { createdAt, data } = stored;
  return renderMessage('slack', { event: name, createdAt, data }, templateVersion);
}
