import { Skeleton, Stack } from '@mantine/core';
import { ApiError } from '@orgdir/client';
import type { UseQueryResult } from '@tanstack/react-query';
import { createContext, use, type ReactNode } from 'react';
import { isUnreachable } from '../api/call.ts';
import { Note } from './note.tsx';
import { Problem } from './problem.tsx';

/** Whether `ConnectionBanner` is above, which says once for all parts that the service does not respond. */
export const ConnectionIsShown = createContext(false);

type Props<T> = {
  query: UseQueryResult<T>;
  /** For what the address chose, if the service refuses it: to try that again would not help. */
  reset?: { label: string; run: () => void };
  children: (data: T) => ReactNode;
};

/** Shows the data of a query, a skeleton while it loads, or its error. */
export function Loaded<T>({ query, reset, children }: Props<T>) {
  const isSaid = use(ConnectionIsShown) && isUnreachable(query.error);
  if (query.data !== undefined && !isGone(query.error))
    return (
      <>
        {query.isError && !isUnreachable(query.error) && (
          <Problem error={query.error} retry={() => void query.refetch()} />
        )}
        {children(query.data)}
      </>
    );
  if (isSaid) return <Note>Not loaded</Note>;
  if (query.isError && reset && isRefused(query.error))
    return (
      <Problem
        error={query.error}
        title="The service cannot show this"
        retry={reset.run}
        retryLabel={reset.label}
      />
    );
  if (query.isError) return <Problem error={query.error} retry={() => void query.refetch()} />;
  return (
    <Stack gap="sm" aria-busy>
      <Skeleton h={28} w="40%" animate={false} />
      <Skeleton h={20} animate={false} />
      <Skeleton h={20} w="80%" animate={false} />
    </Stack>
  );
}

function isRefused(error: Error): boolean {
  return error instanceof ApiError && error.status === 400;
}

/** A resource deleted in the meantime is not shown from the cache. */
export function isGone(error: Error | null): boolean {
  return error instanceof ApiError && error.status === 404;
}
