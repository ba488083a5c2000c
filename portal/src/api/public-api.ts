/** Reads from the public API, without a session. */
import { createClient } from '@orgdir/client';
import { queryOptions } from '@tanstack/react-query';
import { pageData } from '../page-data.ts';

/** The base address of the API, without `/api/v1`. */
export const apiAddress = `${window.location.origin}${pageData.basePath}`;

/** Asks each time whether what the browser has cached is still so. */
const client = createClient({
  baseUrl: apiAddress,
  retries: 0,
  fetch: (url, init) => fetch(url, { ...init, cache: 'no-cache' }),
});

/** The status of the service, including maintenance. The service keeps it in memory, and may be a second behind. */
export const status = () =>
  queryOptions({
    queryKey: ['public status'] as const,
    queryFn: ({ signal }) => client.status({ signal }),
    refetchInterval: 10_000,
    staleTime: 10_000,
  });
