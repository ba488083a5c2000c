import { Button, Group, Pagination as Pages, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { Pagination } from '../api/types.ts';
import { Empty } from './empty.tsx';
import { Note } from './note.tsx';

/** Up to this many pages, every page has a button or is next to one that has.  */
const pagesInReach = 7;

type Props = { pagination: Pagination; go: (page: number) => void };

/** Shows the position in a list and buttons for its pages. Hidden if there is one page. */
export function Pager({ pagination: { page, limit, total, totalPages }, go }: Props) {
  if (totalPages <= 1) return null;
  const first = (page - 1) * limit + 1;
  return (
    <Group component="nav" aria-label="Pages" justify="space-between" gap="sm">
      <Note>
        {first <= total &&
          `${first.toLocaleString()}–${Math.min(page * limit, total).toLocaleString()} of ${total.toLocaleString()}`}
      </Note>
      <Group gap="sm">
        <Pages
          value={page}
          total={totalPages}
          onChange={go}
          size="sm"
          siblings={1}
          getItemProps={(number) => ({ 'aria-label': `Page ${number}` })}
          getControlProps={(control) => ({ 'aria-label': `${control} page` })}
        />
        {totalPages > pagesInReach && <Jump totalPages={totalPages} go={go} />}
      </Group>
    </Group>
  );
}

function Jump({ totalPages, go }: { totalPages: number; go: (page: number) => void }) {
  const [text, setText] = useState('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        // The browser has already checked the bounds.
        go(Number(text));
        setText('');
      }}
    >
      <Group gap={4} wrap="nowrap">
        <TextInput
          type="number"
          aria-label="Page to go to"
          placeholder="Page"
          size="xs"
          w="5.5rem"
          min={1}
          max={totalPages}
          step={1}
          required
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
        />
        <Button type="submit" size="xs" variant="default">
          Go
        </Button>
      </Group>
    </form>
  );
}

export function PastLastPage({ go }: { go: (page: number) => void }) {
  return (
    <Empty
      title="This page is past the last one"
      action={<Button onClick={() => go(1)}>Go to the first page</Button>}
    >
      The list has fewer pages.
    </Empty>
  );
}
