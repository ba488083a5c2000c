import { Button, Group, NativeSelect, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { catalogue } from '../api/operations.ts';
import { fromLocalInput, toLocalInput } from '../ui/local-time.ts';
import { statusLabels } from './delivery-status.tsx';
import { isFiltered, noFilters, spanLabels, type Filters } from './filters.ts';

type Change = (some: Partial<Filters>) => void;

type Props = {
  filters: Filters;
  change: Change;
  /** For controls that disappear when pressed: the list takes the focus. */
  changeAndFocus: Change;
};

/** Filters of the list. Each choice applies at once. */
export function DeliveryFilters({ filters, change, changeAndFocus }: Props) {
  const { status, event, span, since, until } = filters;
  const events = useEventNames(event);
  return (
    <Group role="search" aria-label="Filters" align="flex-end" gap="sm">
      <Choice
        label="Status"
        all="All"
        options={optionsOf(statusLabels)}
        value={status}
        choose={(chosen) => change({ status: chosen as Filters['status'] })}
      />
      <Choice
        label="Event"
        all="All"
        options={events}
        value={event}
        choose={(chosen) => change({ event: chosen })}
      />
      <Choice
        label="Time"
        all="Any time"
        options={optionsOf(spanLabels)}
        value={span}
        choose={(chosen) => change({ span: chosen as Filters['span'], since: null, until: null })}
      />
      {span === 'own' && (
        <OwnSpan key={`${since} ${until}`} since={since} until={until} change={changeAndFocus} />
      )}
      {isFiltered(filters) && (
        <Button variant="subtle" onClick={() => changeAndFocus(noFilters)}>
          Clear filters
        </Button>
      )}
    </Group>
  );
}

type ChoiceProps = {
  label: string;
  /** The option for no filter. */
  all: string;
  options: (string | { value: string; label: string })[];
  value: string | null;
  choose: (value: string | null) => void;
};

function Choice({ label, all, options, value, choose }: ChoiceProps) {
  return (
    <NativeSelect
      label={label}
      data={[{ value: '', label: all }, ...options]}
      value={value ?? ''}
      onChange={({ currentTarget }) => choose(currentTarget.value || null)}
    />
  );
}

function OwnSpan({ since, until, change }: Pick<Filters, 'since' | 'until'> & { change: Change }) {
  const [from, setFrom] = useState(toLocalInput(since));
  const [to, setTo] = useState(toLocalInput(until));
  const fault = from !== '' && to !== '' && from >= to ? 'Choose a time after “From”.' : null;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (!fault) change({ since: fromLocalInput(from), until: fromLocalInput(to) });
      }}
    >
      <Group align="flex-end" gap="sm">
        <TextInput
          type="datetime-local"
          label="From"
          value={from}
          onChange={({ currentTarget }) => setFrom(currentTarget.value)}
        />
        <TextInput
          type="datetime-local"
          label="To"
          value={to}
          error={fault}
          onChange={({ currentTarget }) => setTo(currentTarget.value)}
        />
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
