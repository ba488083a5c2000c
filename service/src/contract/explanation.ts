import { Type, type Static } from 'typebox';
import { nullable, strictObject, time, uuid, state, boolean, text } from './shapes.ts';
import { Delivery } from './webhook.ts';

const check = (description: string) => nullable(boolean(description));

export const explanationResults = {
  unavailable: 'The event is not available to this app.',
  waiting: 'The event is being processed, or an error of the service keeps it back.',
  delivered: 'There is a delivery; its status says what happened.',
  not_sent: 'The event was not sent to the webhook.',
  would_send: 'An event at that time is sent to the webhook.',
  unknown: 'There is no record of the settings at that time.',
} as const;

const ExplainedEvent = strictObject(
  {
    id: uuid({ description: 'The id of the event.' }),
    name: text('The name of the event.', 'event.created'),
    createdAt: time({ description: 'When the event happened.' }),
  },
  { title: 'ExplainedEvent', description: 'An event that the app may have.' },
);

const settings = {
  bound: check('Whether the app was bound to the organisation or alliance.'),
  listed: check('Whether the organisation was listed.'),
  existed: check('Whether the webhook existed.'),
  active: check('Whether the webhook was active.'),
  subscribed: check('Whether the webhook was subscribed to the event.'),
};
const checks = {
  ...settings,
  // Optional, because processes of 1.0.0 leave it out.
  passed: Type.Optional(
    check(
      "Whether the webhook's filter of the event let it pass. Null without one, and at a time, because a filter decides by the data of an event.",
    ),
  ),
};

export const Explanation = strictObject(
  {
    webhookId: uuid({ description: 'The id of the webhook.' }),
    result: state(
      Object.keys(explanationResults) as (keyof typeof explanationResults)[],
      Object.entries(explanationResults)
        .map(([result, meaning]) => `\`${result}\`: ${meaning}`)
        .join(' '),
    ),
    message: text(
      'What happened and what you can change, for people to read.',
      'The webhook was deactivated or suspended. Once it is active again, replay what it missed.',
    ),
    at: nullable(
      time({
        description:
          'The time at which settings were checked: when the event was processed, or `at`.',
      }),
    ),
    event: nullable(ExplainedEvent),
    checks: strictObject(checks, {
      title: 'ExplanationChecks',
      description:
        'The conditions at that time. Null if one is unknown or does not apply: see `unknown`.',
    }),
    unknown: Type.Array(
      Type.Enum(Object.keys(settings) as (keyof typeof settings)[], { type: 'string' }),
      {
        maxItems: Object.keys(settings).length,
        description:
          'The checks that are null because the service has no record of the settings at that time. Those that are null and not in this list do not apply to the event, or are not decided yet.',
      },
    ),
    delivery: nullable(Delivery),
    nearby: Type.Array(ExplainedEvent, {
      maxItems: 20,
      description:
        'The first events of the organisation or alliance within a minute of `at` that the app may have. Empty for a single event.',
    }),
  },
  { title: 'Explanation', description: 'Why a webhook did or did not get an event.' },
);
export type Explanation = Static<typeof Explanation>;
