/** The bodies, queries and specific responses of the webhook operations, and what is checked of times in them. */
import { Type } from 'typebox';
import {
  deleted,
  noNul,
  nullable,
  plainText,
  slug,
  strictObject,
  time,
  enumOf,
  count,
  boolean,
} from '../../contract/shapes.ts';
import {
  overlapSecondsDefault,
  hoursAgo,
  overlapSecondsMax,
  recoverDaysMax,
} from '../../contract/periods.ts';
import { isFuture, requireTime } from '../../contract/parse-time.ts';
import { invalid } from '../../errors.ts';
import { repeatableHeaders } from '../idempotent-requests.ts';
import { OwnHeadersInput } from '../../contract/own-headers.ts';
import { webhookFormats } from '../../contract/delivery-rules.ts';
import { PageQuery } from '../../directory/list-query.ts';
import { eventNames, subjectEvents, subscribableEvents } from '../../events/catalogue.ts';
import { filterDepthMax, filterNodesMax } from '../../webhooks/filters/compile-filters.ts';

const address = Type.String({
  ...noNul,
  minLength: 1,
  maxLength: 2048,
  description: 'The URL to send deliveries to: https, without credentials and fragment.',
  examples: ['https://example.org/hooks'],
});
const events = Type.Array(
  Type.String({ ...noNul, minLength: 1, maxLength: 100, examples: [...subscribableEvents] }),
  {
    minItems: 1,
    maxItems: 50,
    description: `The names of the events to send. Defaults to all events that the app can receive, including future ones, except those marked opt-in. ${eventNames}`,
  },
);
const filters = Type.Record(Type.String({ maxLength: 100 }), Type.Unknown(), {
  description: `Filters by the name of an event: only events that match are sent. Events that are not named pass. Each has at most ${filterNodesMax} fields, operators and values in lists, and at most ${filterDepthMax} objects in each other.`,
});
const note = Type.String({
  ...plainText,
  maxLength: 500,
  description: 'A description for your own use, without control characters.',
});

export const WebhookInput = strictObject(
  {
    url: address,
    format: Type.Optional(
      enumOf(
        [...webhookFormats],
        'What a request looks like. `json` (the default): the signed event. `discord`, `slack` and `teams`: a message; the URL is that of an incoming webhook of a channel. It cannot be changed.',
      ),
    ),
    events: Type.Optional(nullable(events)),
    filters: Type.Optional(nullable(filters)),
    description: Type.Optional(nullable(note)),
    headers: Type.Optional(OwnHeadersInput),
  },
  {
    title: 'WebhookInput',
    description: 'A new webhook.',
    examples: [
      {
        url: 'https://example.org/hooks',
        events: ['org.created'],
        filters: { 'org.created': { recruiting: true } },
        description: 'Announces new organisations',
      },
    ],
  },
);

export const CreationHeaders = repeatableHeaders(
  'a request of the app with the same key and body creates no other webhook and returns the same response.',
);

export const RotationHeaders = repeatableHeaders(
  'a request of the app with the same key and body makes no other secret and returns the same one.',
);

export const WebhookChanges = strictObject(
  {
    url: Type.Optional(address),
    events: Type.Optional(nullable(events)),
    filters: Type.Optional(nullable(filters)),
    description: Type.Optional(nullable(note)),
    headers: Type.Optional(OwnHeadersInput),
    active: Type.Optional(
      boolean(
        'True reactivates the webhook and resets its failure count. False deactivates it and cancels pending deliveries.',
      ),
    ),
    selfHealing: Type.Optional(
      boolean(
        'Whether to probe the webhook after it was deactivated as `failing`, and to activate it when it responds again. False for chat channels.',
      ),
    ),
    replayAfterHealing: Type.Optional(
      boolean('Whether to replay what the webhook missed when probes activate it.'),
    ),
  },
  {
    title: 'WebhookChanges',
    description: 'The fields to change. Omitted fields stay the same.',
    minProperties: 1,
    examples: [{ active: true }],
  },
);

export const DeletedWebhook = deleted('The id of the deleted webhook.', {
  title: 'DeletedWebhook',
  description: 'Confirms that the webhook was deleted.',
});

export const TestRequest = strictObject(
  {
    event: Type.Optional(
      nullable(
        Type.String({
          minLength: 1,
          maxLength: 100,
          description: 'The event whose example data the test includes.',
          examples: ['org.created'],
        }),
      ),
    ),
  },
  {
    title: 'WebhookTestRequest',
    description: 'The options of a test.',
    examples: [{ event: 'org.created' }],
  },
);

export const RotateRequest = strictObject(
  {
    overlapSeconds: Type.Integer({
      minimum: 0,
      maximum: overlapSecondsMax,
      default: overlapSecondsDefault,
      description: 'How long the old secret stays valid, in seconds.',
    }),
  },
  {
    title: 'RotateSecretRequest',
    description: 'The options of a secret rotation.',
    examples: [{ overlapSeconds: 3600 }],
  },
);

export const DeliveryQuery = strictObject({
  ...PageQuery.properties,
  status: Type.Optional(
    enumOf(
      ['pending', 'succeeded', 'failed', 'cancelled', 'undelivered'],
      'Return only deliveries with this status. `undelivered`: those that are failed or cancelled, without tests and probes.',
    ),
  ),
  event: Type.Optional(
    enumOf(
      [...subscribableEvents, 'webhook.test', 'webhook.probe'],
      'Return only deliveries of this event.',
    ),
  ),
  since: Type.Optional(
    time({ description: 'Return only deliveries queued at this time or later.' }),
  ),
  until: Type.Optional(time({ description: 'Return only deliveries queued before this time.' })),
});

export const ExplainQuery = strictObject({
  event: enumOf([...subjectEvents], 'The name of the event.'),
  subject: slug({
    description:
      'The slug of the organisation or alliance of the event, or a former one while nobody else can get it.',
  }),
  at: time({ description: 'When the event happened.' }),
});

export const RecoverRequest = strictObject(
  {
    since: time({
      description: `Recover deliveries that ended at this time or later, at most ${recoverDaysMax} days ago.`,
    }),
  },
  {
    title: 'RecoverRequest',
    description: 'The time to recover deliveries from.',
    examples: [{ since: '2026-11-20T12:00:00.000Z' }],
  },
);

export const ReplayRequest = strictObject(
  {
    since: time({
      description: `Replay what was missed at this time or later, at most ${recoverDaysMax} days ago.`,
    }),
    until: Type.Optional(
      time({ description: 'Replay what was missed before this time. Default: now.' }),
    ),
    dryRun: Type.Optional(boolean('Only count. Default: false.')),
  },
  {
    title: 'ReplayRequest',
    description: 'The time range to replay.',
    examples: [{ since: '2026-11-20T12:00:00.000Z', dryRun: true }],
  },
);

const replayed = (description: string) => count(description);
export const Replayed = strictObject(
  {
    failed: replayed('The number of deliveries that had failed.'),
    cancelled: replayed('The number of deliveries that a deactivation had cancelled.'),
    missed: replayed('The number of events that had no delivery.'),
    more: boolean('Whether there is more. Replay again after these have been sent.'),
  },
  { title: 'Replayed', description: 'What a replay queued, or would queue.' },
);

export const Recovered = strictObject(
  {
    count: count('The number of deliveries that are pending again.'),
  },
  { title: 'Recovered', description: 'The result of a recovery.' },
);

type Range = { since?: string | undefined; until?: string | undefined };

/** `root`: where the request has the range. An empty one is allowed. */
export function checkRange({ since, until }: Range, root: 'query' | 'body'): void {
  if (since === undefined) return;
  const from = requirePast(since, `${root}.since`);
  if (until !== undefined && requireTime(until) < from)
    throw invalid({ path: `${root}.until`, message: 'must not be before since' });
}

export function requirePast(text: string, path: string): Date {
  const then = requireTime(text);
  if (isFuture(then)) throw invalid({ path, message: 'must not be in the future' });
  return then;
}

export function requireRecent(text: string, path = 'body.since'): Date {
  const since = requirePast(text, path);
  if (since >= hoursAgo(24 * recoverDaysMax)) return since;
  throw invalid({ path, message: `must be at most ${recoverDaysMax} days ago` });
}
