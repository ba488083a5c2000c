/** POST …/preview-filters lets the portal show what filters would let pass before they are saved. */
import { Type } from 'typebox';
import { envelope } from '../../contract/envelope.ts';
import { strictObject } from '../../contract/shapes.ts';
import { invalid } from '../../errors.ts';
import { countPassing } from '../../events/pull-events.ts';
import { checkEvents, distinct, readFilters } from '../../webhooks/management/webhooks.ts';
import { oneOf } from '../responses/responses.ts';
import { WebhookInput } from '../webhooks/bodies.ts';
import { operation } from '../webhooks/operation.ts';

/** The newest events that a preview looks at. */
export const previewedMax = 100;

const fields = WebhookInput.properties;
const count = (description: string) => Type.Integer({ minimum: 0, description });

export const previewFilters = operation({
  operationId: 'previewFilters',
  method: 'POST',
  path: '/preview-filters',
  summary: 'Preview filters',
  description: `Counts how many of the last ${previewedMax} events to which a webhook would be subscribed pass these filters. Only owners and developers may ask, because the answers tell something about the data.`,
  body: strictObject(
    { events: fields.events, filters: fields.filters },
    {
      title: 'FilterPreviewRequest',
      description: 'The events and filters of a webhook.',
      examples: [{ events: ['org.created'], filters: { 'org.created': { recruiting: true } } }],
    },
  ),
  bodyOptional: true,
  returns: { 200: 'The counts.' },
  response: oneOf(
    strictObject(
      {
        events: count(`The events, at most ${previewedMax}.`),
        passing: count('How many of them pass.'),
      },
      { title: 'FilterPreview', description: 'What filters would have let pass.' },
    ),
    'FilterPreviewResponse',
    { events: 100, passing: 12 },
  ),
  errors: ['conflict'],
  async run({ database, appId, body: { events = null, filters } }) {
    const eventIssues = events ? await checkEvents(database, appId, events) : [];
    const { filterPath, filterIssues } = await readFilters(database, appId, filters);
    const issues = [...eventIssues, ...filterIssues];
    if (issues.length > 0) throw invalid(...issues);
    const asked = { events: distinct(events), filterPath, limit: previewedMax };
    return envelope(await countPassing(database, appId, asked));
  },
});
