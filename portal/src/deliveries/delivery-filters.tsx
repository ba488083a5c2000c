import { Button, Group, NativeSelect, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { catalogue } from '../api/operations.ts';
import { statusWords } from './delivery-status.tsx';
import { isFiltered, noFilters, readFilters, spanWords, type Filters } from './filters.ts';
import { fromLocalInput, toLocalInput } from './local-time.ts';

/**
 * Filters of the list. Each choice applies at once and starts at the first page. It changes the filters of the current
 * address, because the rendered filters may be one choice behind.
 */
export function DeliveryFilters({
  filters,
  change,
  changeAndSee,
}: {
  filters: Filters;
  change: (filters: Filters) => void;
  /** For controls that disappear when pressed: the list takes the focus. */
  changeAndSee: (filters: Filters) => void;
}) {
  const events = useEventNames(filters.event);
  const choiceOf = (some: Partial<Filters>): Filters => ({
    ...readFilters(new URLSearchParams(location.search)),
    ...some,
    page: 1,
  });
  const choose = (some: Partial<Filters>) => change(choiceOf(some));
  return (
    <Group role="search" aria-label="Filters" align="flex-end" gap="sm">
      <NativeSelect
        label="Status"
        data={[{ value: '', label: 'All' }, ...optionsOf(statusWords)]}
        value={filters.status ?? ''}
        onChange={({ currentTarget }) =>
          choose({ status: (currentTarget.value || null) as Filters['status'] })
        }
      />
      <NativeSelect
        label="Event"
        data={[{ value: '', label: 'All' }, ...events]}
        value={filters.event ?? ''}
        onChange={({ currentTarget }) => choose({ event: currentTarget.value || null })}
      />
      <NativeSelect
        label="Time"
        data={[{ value: '', label: 'Any time' }, ...optionsOf(spanWords)]}
        value={filters.span ?? ''}
        onChange={({ currentTarget }) =>
          choose({
            span: (currentTarget.value || null) as Filters['span'],
            since: null,
            until: null,
          })
        }
      />
      {filters.span === 'own' && (
        <OwnSpan
          key={`${filters.since} ${filters.until}`}
          since={filters.since}
          until={filters.until}
          choose={(span) => changeAndSee(choiceOf(span))}
        />
      )}
      {isFiltered(filters) && (
        <Button variant="subtle" onClick={() => changeAndSee(noFilters)}>
          Clear filters
        </Button>
      )}
    </Group>
  );
}

function OwnSpan({
  since,
  until,
  choose,
}: Pick<Filters, 'since' | 'until'> & {
  choose: (span: Pick<Filters, 'since' | 'until'>) => void;
}) {
  const [from, setFrom] = useState(toLocalInput(since));
  const [to, setTo] = useState(toLocalInput(until));
  const fault = from !== '' && to !== '' && from >= to ? 'Choose a time after “From”.' : null;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (!fault) choose({ since: fromLocalInput(from), until: fromLocalInput(to) });
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
