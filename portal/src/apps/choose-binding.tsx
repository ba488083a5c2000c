import { Group, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useUnsaved } from '../session/unsaved.ts';
import { Lock, Search } from '../ui/icons.tsx';
import { bindable } from '../api/operations.ts';
import type { Page } from '../api/read.ts';
import type { Bindable } from '../api/types.ts';
import { useSession } from '../session/use-session.ts';
import { BusyButton } from '../ui/busy-button.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Note } from '../ui/note.tsx';
import { Pager } from '../ui/pager.tsx';
import { Problem } from '../ui/problem.tsx';
import { kindLabels } from './kind-labels.ts';

/** Waits for a pause in typing, to avoid one search per letter. */
const debounceMs = 250;
const perPage = 10;

type Binding = {
  bind: (subject: Bindable) => void;
  /** The id of the organisation or alliance that is being bound. */
  busyWith: string | null;
};

/**
 * Lists the organisations and alliances that the user manages. A search also finds others, with why they are not
 * available.
 */
export function ChooseBinding({ error, ...binding }: Binding & { error: unknown }) {
  const [typed, setTyped] = useState('');
  useUnsaved(typed.trim() !== '');
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
      <Note role="status">
        {query.data && !query.isPlaceholderData ? describeResults(query.data, search) : ''}
      </Note>
      <Loaded query={query}>
        {({ entries, pagination }) => (
          <>
            {search === '' && pagination.total === 0 && <ManagesNothing />}
            <ul className="plain-list" aria-label="Search results">
              {entries.map((subject) => (
                <Subject key={subject.id} subject={subject} {...binding} />
              ))}
            </ul>
            <Pager pagination={pagination} go={(to) => setAt({ search, page: to })} />
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

function Subject({ subject, bind, busyWith }: Binding & { subject: Bindable }) {
  const { id, name, kind, slug, available, reason } = subject;
  return (
    <Group component="li" justify="space-between" gap="xs">
      <div>
        <Text {...(!available && { c: 'dimmed' })}>{name}</Text>
        <Note size="xs">
          {kindLabels[kind]} {slug}
        </Note>
      </div>
      {available ? (
        <BusyButton
          size="xs"
          onClick={() => bind(subject)}
          busy={busyWith === id}
          disabled={busyWith !== null}
          aria-label={`Bind to ${name}`}
        >
          Bind
        </BusyButton>
      ) : (
        <Note>
          <Lock size={14} aria-hidden /> Not available. {reason}
        </Note>
      )}
    </Group>
  );
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
