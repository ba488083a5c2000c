import { Anchor, Group, Stack, Text, Textarea } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { previewFilters } from '../api/operations.ts';
import { pageData } from '../page-data.ts';
import { BusyButton } from '../ui/busy-button.tsx';
import { Problem } from '../ui/problem.tsx';

type Props = {
  appId: string;
  /** Of the webhook. Null: all events. */
  events: string[] | null;
  value?: string;
  onChange: (value: string) => void;
  error?: ReactNode;
};

const placeholder = JSON.stringify({ 'org.created': { recruiting: true } }, null, 2);

/** Edits filters as JSON text, and shows what they would have let pass. */
export function FiltersField({ appId, events, value = '', ...input }: Props) {
  const preview = useMutation({
    mutationFn: () => previewFilters(appId, { events, filters: toFilters(value) }),
  });
  const { error: invalid } = readFilters(value);
  return (
    <Stack gap="xs">
      <Textarea
        label="Filters"
        description={
          <>
            Only events whose data matches are sent; events that are not named always are. Empty:
            none.{' '}
            <Anchor inherit href={`${pageData.basePath}/docs/events#filters`}>
              How to write filters
            </Anchor>
          </>
        }
        placeholder={placeholder}
        autosize
        minRows={3}
        maxRows={16}
        spellCheck={false}
        autoComplete="off"
        autoCapitalize="off"
        styles={{ input: { fontFamily: 'monospace' } }}
        value={value}
        {...input}
        onChange={({ currentTarget }) => {
          preview.reset();
          input.onChange(currentTarget.value);
        }}
      />
      <Group gap="sm">
        <BusyButton
          variant="default"
          size="xs"
          busy={preview.isPending}
          disabled={value.trim() === '' || invalid !== null}
          onClick={() => preview.mutate()}
        >
          Preview
        </BusyButton>
        <Text size="sm" role="status">
          {preview.data && describePreview(preview.data)}
        </Text>
      </Group>
      {preview.isError && !input.error && (
        <Problem title="The filters cannot be previewed" error={preview.error} />
      )}
    </Stack>
  );
}

function describePreview({ events, passing }: { events: number; passing: number }): string {
  if (events === 0) return 'No such event has happened yet.';
  const last = events === 1 ? 'the only event so far' : `the last ${events} events`;
  return `Would have sent ${passing} of ${last}.`;
}

export type Filters = Record<string, unknown>;

/** Returns the filters of a text that was checked; null if it has none. */
export function toFilters(text: string): Filters | null {
  return readFilters(text).filters;
}

export function fromFilters(filters: Filters | null | undefined): string {
  return filters ? JSON.stringify(filters, null, 2) : '';
}

/** `error`: why the text is no JSON object. */
export function readFilters(text: string): { filters: Filters | null; error: string | null } {
  if (text.trim() === '') return { filters: null, error: null };
  try {
    const filters = JSON.parse(text) as unknown;
    if (typeof filters === 'object' && filters !== null && !Array.isArray(filters))
      return { filters: filters as Filters, error: null };
    return { filters: null, error: 'Write an object with the names of events.' };
  } catch (error) {
    return { filters: null, error: `This is not JSON: ${(error as Error).message}.` };
  }
}
