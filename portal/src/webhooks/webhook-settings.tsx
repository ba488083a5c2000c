import { Button } from '@mantine/core';
import { useRef, useState } from 'react';
import { updateWebhook } from '../api/operations.ts';
import type { Webhook, WebhookChanges } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { moveFocus } from '../ui/move-focus.ts';
import { toastSuccess } from '../ui/toast.ts';
import { Section } from '../ui/section.tsx';
import { DescriptionList } from '../ui/description-list.tsx';
import { Time } from '../ui/time.tsx';
import { useWebhookId, webhookChanges } from './use-webhook-id.ts';
import { WebhookForm, type WebhookSettings } from './webhook-form.tsx';
import { describeEvents } from './webhook-words.ts';

export function WebhookSettingsSection({ webhook }: { webhook: Webhook }) {
  const id = useWebhookId();
  const heading = useRef<HTMLHeadingElement>(null);
  const [isEditing, setIsEditing] = useState(false);
  const write = useWrite((changes: WebhookChanges) => updateWebhook(id, changes), webhookChanges);

  function close(): void {
    setIsEditing(false);
    moveFocus(heading.current);
  }

  async function save(settings: WebhookSettings): Promise<void> {
    const changes = changesBetween(webhook, settings);
    if (Object.keys(changes).length > 0) {
      await write.mutateAsync(changes);
      toastSuccess('The settings are saved.');
    }
    close();
  }

  return (
    <Section
      title="Settings"
      headingRef={heading}
      actions={
        !isEditing && (
          <Button variant="default" onClick={() => setIsEditing(true)}>
            Edit
          </Button>
        )
      }
    >
      {isEditing ? (
        <WebhookForm
          appId={id.appId}
          initial={webhook}
          action="Save"
          save={save}
          autoFocus
          cancel={
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
          }
        />
      ) : (
        <DescriptionList
          entries={[
            ['URL', webhook.url],
            ['Description', webhook.description ?? 'None'],
            ['Events', describeEvents(webhook.events)],
            ['Created', <Time key="created" at={webhook.createdAt} />],
            ['Identifier', webhook.id],
          ]}
        />
      )}
    </Section>
  );
}

/** Sends only changed fields: unchanged events may include some that the app can no longer get. */
function changesBetween(before: WebhookSettings, after: WebhookSettings): WebhookChanges {
  const changes: WebhookChanges = {};
  if (after.url !== before.url) changes.url = after.url;
  if (after.description !== before.description) changes.description = after.description;
  if (asSet(after.events) !== asSet(before.events)) changes.events = after.events;
  return changes;
}

function asSet(events: string[] | null): string {
  return JSON.stringify(events?.toSorted((a, b) => a.localeCompare(b)) ?? null);
}
