/** What pages of the console share: choices that the address keeps, and names with ids. */
import { Button, Code, Group, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useState } from 'react';
import { useSearchParams } from 'react-router';
import { consoleSearchCharsMax } from '../../../service/src/contract/console.ts';
import type { CursorPagination } from '../api/types.ts';
import { CopiedId } from '../ui/copied-id.tsx';
import { moveFocus } from '../ui/move-focus.ts';

/** A value of the address, besides others; another one begins at the first page. */
export function useChoice(name: string): [value: string, choose: (value: string) => void] {
  const [query, setQuery] = useSearchParams();
  return [
    query.get(name) ?? '',
    (value) =>
      setQuery(
        (before) => {
          const next = new URLSearchParams(before);
          for (const each of [name, 'page', 'before']) next.delete(each);
          if (value !== '') next.set(name, value);
          return next;
        },
        // Back leads to the page before, and past what was typed.
        { replace: name !== 'before' },
      ),
  ];
}

const typingMs = 300;

/** The address follows the text once nobody types, and the text follows an address that changes elsewhere. */
export function SearchField({ label }: { label: string }) {
  const [search, choose] = useChoice('search');
  const [text, setText] = useState(search);
  const [known, setKnown] = useState({ search, chosen: search });
  if (known.search !== search) {
    setKnown({ search, chosen: search });
    if (known.chosen !== search) setText(search);
  }
  const chooseLater = useDebouncedCallback((chosen: string) => {
    setKnown({ search, chosen });
    choose(chosen);
  }, typingMs);
  return (
    <TextInput
      type="search"
      label={label}
      maw={360}
      maxLength={consoleSearchCharsMax}
      value={text}
      onChange={({ currentTarget: { value } }) => {
        setText(value);
        chooseLater(value);
      }}
    />
  );
}

export function Named({ name, id, thing }: { name: string; id: string; thing: string }) {
  return (
    <>
      {name}
      <CopiedId id={id} thing={thing} />
    </>
  );
}

/** A filter that only links set: its value, and a button that removes it. */
export function Only({ name, label }: { name: string; label: string }) {
  const [value, choose] = useChoice(name);
  if (value === '') return null;
  return (
    <Group gap="xs">
      <Text size="sm">
        {label} <Code>{value}</Code>
      </Text>
      <Button
        size="compact-xs"
        variant="default"
        onClick={() => {
          choose('');
          moveFocus();
        }}
      >
        Show all
      </Button>
    </Group>
  );
}

/** Buttons of a list without a total, under its entries. */
export function OlderPages({ hasMore, nextCursor }: CursorPagination) {
  const [before, choose] = useChoice('before');
  const go = (to: string) => {
    choose(to);
    moveFocus();
  };
  return (
    <Group>
      {before !== '' && (
        <Button variant="default" onClick={() => go('')}>
          Newest
        </Button>
      )}
      {hasMore && (
        <Button variant="default" onClick={() => go(nextCursor ?? '')}>
          Earlier
        </Button>
      )}
    </Group>
  );
}
