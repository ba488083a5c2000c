import { Textarea, TextInput } from '@mantine/core';
import type { UseMutationResult } from '@tanstack/react-query';
import type { Webhook, WebhookInput } from '../api/types.ts';
import { pageData } from '../page-data.ts';
import { Form } from '../ui/form.tsx';
import { useWriteForm } from '../ui/use-write-form.ts';
import { EventChoice } from './event-choice.tsx';
import {
  FiltersField,
  fromFilters,
  readFilters,
  toFilters,
  type Filters,
} from './filters-field.tsx';
import { HeaderFields, checkHeaders, toHeaders, type HeaderRows } from './header-fields.tsx';

type Fields = Pick<Webhook, 'url' | 'description' | 'events'>;
/** Without `headers`, the stored ones stay. */
export type WebhookSettings = Fields & {
  filters: Filters | null;
  headers?: Record<string, string>;
};
/** `filters`: as JSON text. */
type Values = Fields & { filters: string; headers: HeaderRows };

/** A process of 1.0.0, during an upgrade, does not know `filters`. */
export function toInput({ filters, ...settings }: WebhookSettings): WebhookInput {
  return filters ? { ...settings, filters } : settings;
}

export const newWebhook: Fields = { url: '', description: null, events: null };

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
  initial: Fields & Pick<Webhook, 'filters' | 'headerNames'>;
  action: string;
  write: UseMutationResult<unknown, Error, WebhookSettings>;
  /** Set if the form replaces the button that opened it. */
  autoFocus?: boolean;
  cancel?: () => void;
};

export function WebhookForm({ appId, initial, action, write, autoFocus = false, cancel }: Props) {
  const { url, description, events, filters = null, headerNames = [] } = initial;
  const { form, formProps } = useWriteForm<WebhookSettings, Values>(write, {
    initialValues: { url, description, events, filters: fromFilters(filters), headers: null },
    transformValues: normalise,
    validate: {
      url: (text) => (text.trim() === '' ? 'Enter the URL of your server.' : null),
      events: (chosen) => (chosen?.length === 0 ? 'Choose at least one event.' : null),
      filters: (text) => readFilters(text).error,
      headers: checkHeaders,
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
      <FiltersField
        // A preview is of these events.
        key={form.values.events?.join()}
        appId={appId}
        events={form.values.events}
        {...form.getInputProps('filters')}
      />
      <HeaderFields
        names={headerNames}
        moves={hasOtherOrigin(form.values.url, url)}
        {...form.getInputProps('headers')}
      />
    </Form>
  );
}

/** As the service stores them. */
function normalise({ url, description, events, filters, headers }: Values): WebhookSettings {
  const entered = {
    url: url.trim(),
    description: description?.trim() || null,
    events,
    filters: toFilters(filters),
  };
  return headers ? { ...entered, headers: toHeaders(headers) } : entered;
}

/** False while it is being typed. */
function hasOtherOrigin(url: string, stored: string): boolean {
  return (
    URL.canParse(url) && URL.canParse(stored) && new URL(url).origin !== new URL(stored).origin
  );
}
