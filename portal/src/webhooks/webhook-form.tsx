import { Textarea, TextInput } from '@mantine/core';
import type { UseMutationResult } from '@tanstack/react-query';
import type { Webhook, WebhookInput } from '../api/types.ts';
import { pageData } from '../page-data.ts';
import { Form } from '../ui/form.tsx';
import { useWriteForm } from '../ui/use-write-form.ts';
import { EventChoice } from './event-choice.tsx';
import { FiltersField, fromFilters, readFilters, toFilters } from './filters-field.tsx';

/** `filters`: as JSON text, see `filters-field.tsx`. */
export type WebhookSettings = Pick<Webhook, 'url' | 'description' | 'events'> & { filters: string };

export const noSettings: WebhookSettings = {
  url: '',
  description: null,
  events: null,
  filters: '',
};

/** As the service takes them. */
export function toInput({ filters, ...settings }: WebhookSettings): WebhookInput {
  return { ...settings, filters: toFilters(filters) };
}

/** The limits of the service. */
const urlLengthMax = 2048;
const descriptionLengthMax = 500;

const { allowsHttp, allowsNetworks } = pageData.webhookUrls;
const urlHint = [
  'Your server receives deliveries here, as POST requests.',
  `It must start with https://${allowsHttp ? ' or http://' : ''}`,
  `and be reachable from the internet${allowsNetworks ? ", or in one of the service's allowed networks" : ''}.`,
].join(' ');

type Props = {
  appId: string;
  initial: WebhookSettings;
  action: string;
  write: UseMutationResult<unknown, Error, WebhookSettings>;
  /** Set if the form replaces the button that opened it. */
  autoFocus?: boolean;
  cancel?: () => void;
};

export function WebhookForm({ appId, initial, action, write, autoFocus = false, cancel }: Props) {
  const { form, formProps } = useWriteForm(write, {
    initialValues: initial,
    transformValues: normalise,
    validate: {
      url: (url) => (url.trim() === '' ? 'Enter the URL of your server.' : null),
      events: (events) => (events?.length === 0 ? 'Choose at least one event.' : null),
      filters: (filters) => readFilters(filters).error,
    },
  });
  return (
    <Form {...formProps} action={action} {...(cancel && { cancel })} maw={640}>
      <TextInput
        label="URL"
        description={urlHint}
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
        description="Its name in the portal, such as “Posts into the chat”."
        autosize
        minRows={1}
        maxRows={5}
        maxLength={descriptionLengthMax}
        {...form.getInputProps('description')}
        value={form.values.description ?? ''}
      />
      <EventChoice appId={appId} {...form.getInputProps('events')} />
      <FiltersField appId={appId} events={form.values.events} {...form.getInputProps('filters')} />
    </Form>
  );
}

/** As the service stores them. */
function normalise({ url, description, events, filters }: WebhookSettings): WebhookSettings {
  return {
    url: url.trim(),
    description: description?.trim() || null,
    events,
    filters: fromFilters(toFilters(filters)),
  };
}
