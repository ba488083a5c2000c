import { Group, Stack, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useState, type ReactNode } from 'react';
import type { Webhook } from '../api/types.ts';
import { describeError } from '../ui/describe-error.ts';
import { focusFirstError } from '../ui/focus-first-error.ts';
import { Problem } from '../ui/problem.tsx';
import { EventChoice, type ChosenEvents } from './event-choice.tsx';
import { BusyButton } from '../ui/busy-button.tsx';

export type WebhookSettings = Pick<Webhook, 'url' | 'description' | 'events'>;

type Values = { url: string; description: string; events: ChosenEvents };

/** The limits of the service. */
const urlLengthMax = 2048;
const descriptionLengthMax = 500;

/** Edits the settings of a webhook. Errors of the service appear at their fields. */
export function WebhookForm({
  appId,
  initial,
  action,
  save,
  autoFocus = false,
  cancel,
}: {
  appId: string;
  initial: WebhookSettings;
  /** The label of the submit button. */
  action: string;
  /** Rejects if the service refuses the settings. */
  save: (settings: WebhookSettings) => Promise<void>;
  /** Set if the form replaces the button that opened it. */
  autoFocus?: boolean;
  cancel: ReactNode;
}) {
  const [error, setError] = useState<unknown>(null);
  const form = useForm<Values>({
    mode: 'controlled',
    initialValues: {
      url: initial.url,
      description: initial.description ?? '',
      events: { every: initial.events === null, chosen: initial.events ?? [] },
    },
    validate: {
      url: (url) => (url.trim() === '' ? 'Enter the URL of your server.' : null),
      events: ({ every, chosen }) =>
        !every && chosen.length === 0 ? 'Choose at least one event.' : null,
    },
  });

  const focusFirst = focusFirstError(form);

  async function submit(values: Values): Promise<void> {
    setError(null);
    try {
      await save(settingsOf(values));
    } catch (refusal) {
      const errors = fieldErrors(describeError(refusal).fields);
      if (Object.keys(errors).length === 0) return setError(refusal);
      form.setErrors(errors);
      focusFirst(errors);
    }
  }

  return (
    <form onSubmit={form.onSubmit(submit, focusFirst)} noValidate>
      <Stack gap="lg" maw={640}>
        <TextInput
          label="URL"
          description="Your server receives deliveries here, as POST requests. It must start with https:// and be reachable from the internet."
          placeholder="https://example.org/hooks"
          required
          autoFocus={autoFocus}
          type="url"
          inputMode="url"
          autoComplete="off"
          spellCheck={false}
          maxLength={urlLengthMax}
          {...form.getInputProps('url')}
        />
        <Textarea
          label="Description"
          description="A note for yourself."
          autosize
          minRows={1}
          maxRows={5}
          maxLength={descriptionLengthMax}
          {...form.getInputProps('description')}
        />
        <EventChoice
          appId={appId}
          value={form.values.events}
          change={(events) => form.setFieldValue('events', events)}
          error={typeof form.errors['events'] === 'string' ? form.errors['events'] : null}
        />
        {error !== null && <Problem error={error} />}
        <Group>
          <BusyButton type="submit" busy={form.submitting}>
            {action}
          </BusyButton>
          {cancel}
        </Group>
      </Stack>
    </form>
  );
}

function settingsOf({ url, description, events }: Values): WebhookSettings {
  return {
    url: url.trim(),
    description: description.trim() || null,
    events: events.every ? null : events.chosen,
  };
}

/** Errors of single events, such as `events.3`, appear at the whole choice of events. */
function fieldErrors(fields: Record<string, string>): Record<string, string> {
  const errors: Record<string, string> = {};
  for (const [path, message] of Object.entries(fields)) {
    const [field = ''] = path.split('.');
    const said = field === 'url' ? `The URL ${message}.` : `${message}.`;
    errors[field] = errors[field] ? `${errors[field]} ${said}` : said;
  }
  return errors;
}
