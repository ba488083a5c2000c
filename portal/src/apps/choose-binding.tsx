import { Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Search } from 'lucide-react';
import { useState } from 'react';
import type { Page } from '../api/read.ts';
import { bindable } from '../api/operations.ts';
import type { Bindable } from '../api/types.ts';
import { useSession } from '../session/use-session.ts';
import { Loaded } from '../ui/loaded.tsx';
import { Pager } from '../ui/pager.tsx';
import { Problem } from '../ui/problem.tsx';
import { BindableList } from './bindable-list.tsx';

/** Waits for a pause in typing, to avoid one search per letter. */
const debounceMs = 250;
const perPage = 10;

/**
 * Lists the organisations and alliances that the user manages. A search also finds others, with why they are not
 * available.
 */
export function ChooseBinding({
  bind,
  busyWith,
  error,
}: {
  bind: (subject: Bindable) => void;
  /** The id of the organisation or alliance that is being bound. */
  busyWith: string | null;
  error: unknown;
}) {
  const [typed, setTyped] = useState('');
  const [search] = useDebouncedValue(typed.trim(), debounceMs);
  const [at, setAt] = useState({ search, page: 1 });
  // A new search starts at its first page.
  const page = at.search === search ? at.page : 1;
  const query = useQuery(bindable({ page, limit: perPage, ...(search !== '' && { search }) }));
  return (
    <Stack gap="sm">
      <TextInput
        type="search"
        label="Find an organisation or alliance"
        description="Those you manage come first. Search to see the rest of the directory."
        leftSection={<Search size={16} aria-hidden />}
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
        maxLength={100}
        maw="30rem"
      />
      {error ? <Problem error={error} /> : null}
      <Text size="sm" c="dimmed" role="status">
        {query.data && !query.isPlaceholderData ? describeResults(query.data, search) : ''}
      </Text>
      <Loaded query={query}>
        {(found) => (
          <>
            {search === '' && found.pagination.total === 0 && <ManagesNothing />}
            <BindableList subjects={found.entries} bind={bind} busyWith={busyWith} />
            <Pager pagination={found.pagination} go={(to) => setAt({ search, page: to })} />
          </>
        )}
      </Loaded>
    </Stack>
  );
}

function describeResults(
  { entries, pagination: { total } }: Page<Bindable>,
  search: string,
): string {
  if (search === '') return total === 0 ? '' : `You manage ${total.toLocaleString()}.`;
  if (total === 0) return `No results for “${search}”.`;
  const available = entries.filter((subject) => subject.available).length;
  const mayBind = available === 0 ? 'none' : available.toLocaleString();
  return `${total.toLocaleString()} found; you can bind to ${mayBind} of those shown.`;
}

/** Only the operator of the directory makes somebody a manager, so there is nothing to do here. */
function ManagesNothing() {
  const { data: session } = useSession();
  return (
    <Text size="sm" maw="65ch">
      You don't manage any organisation or alliance. The operator of the directory can make you a
      manager by your confirmed address, <strong>{session?.user.email}</strong>. An app also works
      without a binding.
    </Text>
  );
}
