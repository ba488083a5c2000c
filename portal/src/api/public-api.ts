/** Reads from the public API, without a session. */
import { createClient } from '@orgdir/client';
import { queryOptions } from '@tanstack/react-query';
import { pageData } from '../page-data.ts';

/** The base address of the API, without `/api/v1`. */
export const apiAddress = `${window.location.origin}${pageData.basePath}`;

/** The status of the service, including maintenance. */
export const status = () =>
  queryOptions({
    queryKey: ['public status'] as const,
    queryFn: ({ signal }) => createClient({ baseUrl: apiAddress, retries: 0 }).status({ signal }),
    refetchInterval: 60_000,
    staleTime: 30_000,
  });
