import { Button } from '@mantine/core';
import { useRef, useState } from 'react';
import { updateWebhook } from '../api/operations.ts';
import type { Webhook, WebhookChanges } from '../api/types.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { CodeBlock } from '../ui/code-block.tsx';
import { CopiedId } from '../ui/copied-id.tsx';
import { DescriptionList } from '../ui/description-list.tsx';
import { moveFocus, moveFocusAfterWait } from '../ui/move-focus.ts';
import { Section } from '../ui/section.tsx';
import { Time } from '../ui/time.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { fromFilters } from './filters-field.tsx';
import { useWebhookId } from './use-webhook-id.ts';
import type { WebhookTabProps } from './webhook-frame.tsx';
import { WebhookForm, type WebhookSettings } from './webhook-form.tsx';
import { describeEvents, formatLabels, isChat } from './describe-webhook.ts';

export function WebhookSettingsSection({ webhook, mayChange }: WebhookTabProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const [isEditing, setIsEditing] = useState(false);
  const edit = (
    <Button variant="default" onClick={() => setIsEditing(true)}>
      Edit
    </Button>
  );
  const cancel = () => {
    setIsEditing(false);
    moveFocus(heading.current);
  };
  const saved = () => {
    setIsEditing(false);
    moveFocusAfterWait(heading.current);
  };
  return (
    <Section title="Settings" headingRef={heading} actions={mayChange && !isEditing && edit}>
      {mayChange && isEditing ? (
        <Edit webhook={webhook} cancel={cancel} saved={saved} />
      ) : (
        <Settings webhook={webhook} />
      )}
    </Section>
  );
}

function Settings({ webhook }: { webhook: Webhook }) {
  const { id, url, format = 'json', description, events, filters } = webhook;
  const { headerNames = [], createdAt } = webhook;
  return (
    <DescriptionList
      entries={[
        ['URL', url],
        ['Sends', formatLabels[format]],
        ['Description', description ?? 'None'],
        ['Events', describeEvents(events)],
        [
          'Filters',
          filters ? (
            <CodeBlock key="filters" label="JSON" text={fromFilters(filters)} isJson />
          ) : (
            'None'
          ),
        ],
        ...(isChat(webhook) ? [] : [describeHeaders(headerNames)]),
        ['Created', <Time key="created" at={createdAt} />],
        ['Webhook id', <CopiedId key="id" id={id} thing="webhook" />],
      ]}
    />
  );
}

function describeHeaders(names: string[]): [string, string] {
  return ['Headers', names.length === 0 ? 'None' : `${names.join(', ')} (values hidden)`];
}

type EditProps = { webhook: Webhook; cancel: () => void; saved: () => void };

function Edit({ webhook: current, cancel, saved }: EditProps) {
  const id = useWebhookId();
  // As the form began, because somebody else may change what stays as it was in the form.
  const [webhook] = useState(current);
  const save = async (settings: WebhookSettings) => {
    const changes = changesBetween(webhook, settings);
    if (Object.keys(changes).length === 0) return;
    await updateWebhook(id, changes);
    toastSuccess('Settings saved.');
  };
  const write = useWrite(save, appChanges, { done: saved });
  return (
    <WebhookForm
      appId={id.appId}
      initial={webhook}
      action="Save"
      write={write}
      autoFocus
      cancel={cancel}
    />
  );
}

/** Sends only changed fields: unchanged events may include some that the app can no longer get. */
function changesBetween(before: Webhook, after: WebhookSettings): WebhookChanges {
  const changes: WebhookChanges = {};
  if (after.url !== before.url) changes.url = after.url;
  if (after.description !== before.description) changes.description = after.description;
  if (asSet(after.events) !== asSet(before.events)) changes.events = after.events;
  if (fromFilters(after.filters) !== fromFilters(before.filters)) changes.filters = after.filters;
  if (after.headers) changes.headers = after.headers;
  return changes;
}

function asSet(events: string[] | null): string {
  return JSON.stringify(events?.toSorted((a, b) => a.localeCompare(b)) ?? null);
}
