import { Group, Radio, Textarea, TextInput } from '@mantine/core';
import type { UseMutationResult } from '@tanstack/react-query';
import type { ComponentProps } from 'react';
import type { Webhook, WebhookInput } from '../api/types.ts';
import { pageData } from '../page-data.ts';
import { Form } from '../ui/form.tsx';
import { LeaveGuard } from '../ui/leave-guard.tsx';
import { useWriteForm } from '../ui/use-write-form.ts';
import {
  webhookFormats,
  type WebhookFormat,
} from '../../../service/src/contract/delivery-rules.ts';
import { formatLabels } from './describe-webhook.ts';
import { EventChoice } from './event-choice.tsx';
import {
  FiltersField,
  fromFilters,
  readFilters,
  toFilters,
  type Filters,
} from './filters-field.tsx';
import { HeaderFields, checkHeaders, toHeaders, type HeaderRows } from './header-fields.tsx';
import { MessagePreview } from './message-preview.tsx';

type Fields = Pick<Webhook, 'url' | 'format' | 'description' | 'events'>;
/** Without `headers`, the stored ones stay. */
export type WebhookSettings = Fields & {
  filters: Filters | null;
  headers?: Record<string, string>;
};
/** `filters`: as JSON text. */
type Values = Fields & { format: WebhookFormat; filters: string; headers: HeaderRows };

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

const chatHint = {
  discord: 'In Discord: Edit channel, Integrations, Webhooks, New webhook, Copy webhook URL.',
  slack: 'In the settings of your Slack app: Incoming Webhooks, Add New Webhook.',
  teams: 'In Teams: Workflows, “Send webhook alerts to a channel”, and copy its URL.',
};
const examples = {
  json: 'https://example.org/hooks',
  discord: 'https://discord.com/api/webhooks/…',
  slack: 'https://hooks.slack.com/services/…',
  teams: 'https://….environment.api.powerplatform.com/powerautomate/…',
};

type Props = {
  appId: string;
  initial: Fields & Pick<Webhook, 'filters' | 'headerNames'>;
  /** Whether the format can be chosen, which never changes afterwards. */
  isNew?: boolean;
  action: string;
  write: UseMutationResult<unknown, Error, WebhookSettings>;
  /** Set if the form replaces the button that opened it. */
  autoFocus?: boolean;
  cancel?: () => void;
};

export function WebhookForm({
  appId,
  initial,
  isNew = false,
  autoFocus,
  write,
  ...buttons
}: Props) {
  const { form, formProps } = useSettings(initial, write);
  const { format } = form.values;
  return (
    <Form {...formProps} {...buttons} maw={640}>
      {form.isDirty() && <LeaveGuard lost="changes" />}
      {isNew && (
        <Radio.Group label="Sends" {...form.getInputProps('format')}>
          <Group mt={6}>
            {webhookFormats.map((one) => (
              <Radio key={one} value={one} label={formatLabels[one]} />
            ))}
          </Group>
        </Radio.Group>
      )}
      <UrlField format={format} autoFocus={autoFocus} {...form.getInputProps('url')} />
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
      {format === 'json' && (
        <HeaderFields
          names={initial.headerNames ?? []}
          moves={hasOtherOrigin(form.values.url, initial.url)}
          {...form.getInputProps('headers')}
        />
      )}
      {format !== 'json' && isNew && <MessagePreview appId={appId} chosen={form.values.events} />}
    </Form>
  );
}

function useSettings(initial: Props['initial'], write: Props['write']) {
  const { url, format = 'json', description, events, filters } = initial;
  return useWriteForm<WebhookSettings, Values>(write, {
    initialValues: {
      url,
      format,
      description: description ?? '',
      events,
      filters: fromFilters(filters),
      headers: null,
    },
    transformValues: normalise,
    validate: {
      url: (text, values) =>
        text.trim() === ''
          ? `Enter the URL of ${values.format === 'json' ? 'your server' : 'the channel'}.`
          : null,
      events: (chosen) => (chosen?.length === 0 ? 'Choose at least one event.' : null),
      filters: (text) => readFilters(text).error,
      // A chat channel has none.
      headers: (rows, values) => (values.format === 'json' ? checkHeaders(rows) : null),
    },
  });
}

type UrlFieldProps = { format: WebhookFormat } & ComponentProps<typeof TextInput>;

function UrlField({ format, ...input }: UrlFieldProps) {
  return (
    <TextInput
      label={format === 'json' ? 'URL' : 'Webhook URL of the channel'}
      description={
        format === 'json'
          ? urlHint
          : `${chatHint[format]} Whoever has the URL can post into the channel: it is stored encrypted and never shown again.`
      }
      placeholder={examples[format]}
      required
      type="url"
      inputMode="url"
      autoComplete="off"
      spellCheck={false}
      maxLength={urlLengthMax}
      {...input}
    />
  );
}

/** As the service stores them. */
function normalise({
  url,
  format,
  description,
  events,
  filters,
  headers,
}: Values): WebhookSettings {
  const isJson = format === 'json';
  return {
    url: url.trim(),
    // Processes of 1.0.0 do not know it.
    ...(!isJson && { format }),
    description: description?.trim() || null,
    events,
    filters: toFilters(filters),
    ...(isJson && headers && { headers: toHeaders(headers) }),
  };
}

/** False while it is being typed. */
function hasOtherOrigin(url: string, stored: string): boolean {
  return (
    URL.canParse(url) && URL.canParse(stored) && new URL(url).origin !== new URL(stored).origin
  );
}
