import { ActionIcon, Button, Group, Modal, NativeSelect, Stack, TextInput } from '@mantine/core';
import { useDisclosure, useMediaQuery } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState, type ComponentProps } from 'react';
import { useParams } from 'react-router';
import { errorLabels } from '../../../service/src/contract/webhook-in-words.ts';
import { catalogue, webhooks as webhooksOperation } from '../api/operations.ts';
import { can } from '../apps/can.ts';
import { useApp } from '../apps/use-app.ts';
import { useUnsaved } from '../session/unsaved.ts';
import { Search } from '../ui/icons.tsx';
import { TimeField } from '../ui/time-field.tsx';
import { nameInList } from '../webhooks/describe-webhook.ts';
import { statusFilterLabels } from './delivery-status.tsx';
import {
  countFilters,
  noFilters,
  spanLabels,
  type ChangeFilters,
  type Filters,
} from './filters.ts';
import classes from './filters.module.css';
import { subjectFault, subjectLabel, toSubject } from './subject.ts';

type Props = {
  filters: Filters;
  change: ChangeFilters;
  /** For controls that disappear when pressed: the list takes the focus. */
  changeAndFocus: ChangeFilters;
  /** True for the list of an app, which has several webhooks. */
  ofApp: boolean;
};

/** The filters of the list. Each choice applies at once. A narrow screen has them in a dialog, next to the search. */
export function DeliveryFilters(props: Props) {
  const isNarrow = useMediaQuery('(width < 48em)', false, { getInitialValueInEffect: false });
  const count = countFilters({ ...props.filters, search: null });
  const { search, span } = props.filters;
  return (
    <Group gap={6} role="search" aria-label="Filters">
      <SearchField search={search} change={props.change} />
      {isNarrow ? (
        <Sheet {...props} count={count} />
      ) : (
        <>
          <Choices {...props} />
          {span === 'own' && <OwnSpan {...props} />}
        </>
      )}
      {countFilters(props.filters) > 0 && (
        <Button variant="subtle" size="compact-sm" onClick={() => props.changeAndFocus(noFilters)}>
          Clear filters
        </Button>
      )}
    </Group>
  );
}

function Sheet({ count, ...props }: Props & { count: number }) {
  const [opened, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button
        variant="default"
        size="xs"
        onClick={open}
        aria-haspopup="dialog"
        style={{ flexShrink: 0 }}
      >
        {count === 0 ? 'Filters' : `Filters (${count})`}
      </Button>
      <Modal opened={opened} onClose={close} title="Filters">
        <Stack className={classes['sheet'] ?? ''}>
          <Choices {...props} />
          {props.filters.span === 'own' ? (
            <OwnSpan
              {...props}
              changeAndFocus={(filters) => {
                props.change(filters);
                close();
              }}
            />
          ) : (
            <Button onClick={close}>Show deliveries</Button>
          )}
        </Stack>
      </Modal>
    </>
  );
}

/** The key `/` goes there. */
export const searchFieldId = 'delivery-search';

function SearchField({ search, change }: { search: string | null; change: ChangeFilters }) {
  const [text, setText] = useDraft(search);
  const mayReadBodies = can(useApp(), 'readInternalBodies');
  return (
    <form
      style={{ flex: '1 1 9rem' }}
      onSubmit={(event) => {
        event.preventDefault();
        change({ search: text.trim() || null });
      }}
    >
      <TextInput
        type="search"
        size="xs"
        id={searchFieldId}
        aria-label="Search"
        placeholder={
          mayReadBodies ? 'Delivery id, event id or text in the body' : 'Delivery id or event id'
        }
        maxLength={searchLengthMax}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
        rightSection={
          <ActionIcon type="submit" variant="subtle" color="gray" aria-label="Search deliveries">
            <Search size={16} aria-hidden />
          </ActionIcon>
        }
      />
    </form>
  );
}

/** The text of a field, which starts again when the filter changes elsewhere, such as by the Back button. */
function useDraft(filter: string | null): [text: string, setText: (text: string) => void] {
  const [draft, setDraft] = useState({ filter, text: filter ?? '' });
  if (draft.filter !== filter) setDraft({ filter, text: filter ?? '' });
  useUnsaved(draft.text.trim() !== (filter ?? '').trim());
  return [draft.text, (text) => setDraft({ filter, text })];
}

/** The limit of the service. */
const searchLengthMax = 200;

function Choices({ filters, change, ofApp }: Props) {
  const { status, event, span, subject } = filters;
  const events = useEventNames(event);
  return (
    <>
      <Choice
        label="Time"
        all="Any time"
        data={optionsOf(spanLabels)}
        value={span}
        choose={(chosen) => change({ span: chosen as Filters['span'], since: null, until: null })}
      />
      <Choice
        label="Status"
        all="Any status"
        data={optionsOf(statusFilterLabels)}
        value={status}
        choose={(chosen) => change({ status: chosen as Filters['status'] })}
      />
      <ResponseChoice filters={filters} change={change} />
      <Choice
        label="Event"
        all="Any event"
        data={events}
        value={event}
        choose={(chosen) => change({ event: chosen })}
      />
      {ofApp && <WebhookChoice filters={filters} change={change} />}
      <SubjectField subject={subject} change={change} />
    </>
  );
}

type ChoiceProps = Pick<Props, 'filters' | 'change'>;

const responseClasses = {
  '2xx': '2xx: accepted',
  '3xx': '3xx: redirected',
  '4xx': '4xx: refused',
  '5xx': '5xx: failed',
  none: 'No response',
};
const commonStatuses = ['400', '401', '403', '404', '410', '429', '500', '502', '503', '504'];

/** A response or, after a colon, an error: a delivery has either. */
function ResponseChoice({ filters: { response, error }, change }: ChoiceProps) {
  const isOther =
    response !== null &&
    !Object.hasOwn(responseClasses, response) &&
    !commonStatuses.includes(response);
  return (
    <Choice
      label="Response"
      all="Any response"
      data={[
        { group: 'Responses', items: optionsOf(responseClasses) },
        { group: 'Statuses', items: isOther ? [response, ...commonStatuses] : commonStatuses },
        {
          group: 'Errors',
          items: optionsOf(errorLabels).map(({ value, label }) => ({ value: `:${value}`, label })),
        },
      ]}
      value={error === null ? response : `:${error}`}
      choose={(chosen) =>
        change(
          chosen?.startsWith(':')
            ? { response: null, error: chosen.slice(1) as Filters['error'] }
            : { response: chosen, error: null },
        )
      }
    />
  );
}

function WebhookChoice({ filters: { webhook }, change }: ChoiceProps) {
  const { appId = '' } = useParams();
  const { data } = useQuery(webhooksOperation(appId));
  const options = (data?.entries ?? []).map((each) => ({
    value: each.id,
    label: nameInList(each),
  }));
  if (webhook !== null && !options.some(({ value }) => value === webhook))
    options.push({ value: webhook, label: data ? 'Deleted webhook' : 'Loading' });
  return (
    <Choice
      label="Webhook"
      all="Any webhook"
      data={options}
      value={webhook}
      choose={(chosen) => change({ webhook: chosen })}
    />
  );
}

function SubjectField({ subject, change }: { subject: string | null; change: ChangeFilters }) {
  const [text, setText] = useDraft(subject);
  const [isFaulty, setFaulty] = useState(false);
  const apply = () => {
    const chosen = toSubject(text);
    const isEmpty = text.trim() === '';
    setFaulty(chosen === null && !isEmpty);
    if (chosen !== subject && (chosen !== null || isEmpty)) change({ subject: chosen });
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        apply();
      }}
    >
      <TextInput
        size="xs"
        className={classes['chip'] ?? ''}
        {...(subject !== null && { 'data-set': true })}
        aria-label={subjectLabel}
        placeholder="Any organisation"
        autoCapitalize="off"
        spellCheck={false}
        value={text}
        error={isFaulty && subjectFault}
        onChange={({ currentTarget }) => {
          setFaulty(false);
          setText(currentTarget.value);
        }}
        onBlur={apply}
      />
    </form>
  );
}

type SelectProps = {
  label: string;
  /** The option for no filter. */
  all: string;
  data: NonNullable<ComponentProps<typeof NativeSelect>['data']>;
  value: string | null;
  choose: (value: string | null) => void;
};

function Choice({ label, all, data, value, choose }: SelectProps) {
  return (
    <NativeSelect
      size="xs"
      className={classes['chip'] ?? ''}
      {...(value !== null && { 'data-set': true })}
      aria-label={label}
      data={[{ value: '', label: all }, ...data]}
      value={value ?? ''}
      onChange={({ currentTarget }) => choose(currentTarget.value || null)}
    />
  );
}

function OwnSpan({ filters: { since, until }, changeAndFocus }: Props) {
  return <Times key={`${since} ${until}`} since={since} until={until} change={changeAndFocus} />;
}

type TimesProps = Pick<Filters, 'since' | 'until'> & { change: ChangeFilters };

function Times({ since, until, change }: TimesProps) {
  const [from, setFrom] = useState(since);
  const [to, setTo] = useState(until);
  useUnsaved(from !== since || to !== until);
  const fault = from !== null && to !== null && from >= to ? 'Choose a time after “From”.' : null;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (!fault) change({ since: from, until: to });
      }}
    >
      <Group align="flex-end" gap="sm">
        <TimeField label="From" value={from} onChange={setFrom} />
        <TimeField label="To" value={to} error={fault} onChange={setTo} />
        <Button type="submit" variant="default">
          Apply
        </Button>
      </Group>
    </form>
  );
}

/** The names of the catalogue, and the one in the address even if it is unknown. */
function useEventNames(named: string | null): string[] {
  const { data } = useQuery(catalogue());
  const names = data?.entries.map(({ event }) => event) ?? [];
  return named === null || names.includes(named) ? names : [named, ...names];
}

function optionsOf(words: Record<string, string>): { value: string; label: string }[] {
  return Object.entries(words).map(([value, label]) => ({ value, label }));
}
