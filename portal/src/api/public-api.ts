/** The public API, as anybody calls it. */
import { createClient } from '@orgdir/client';
import { queryOptions } from '@tanstack/react-query';
import { pageData } from '../page-data.ts';

/** Where the API is, without `/api/v1`. */
export const apiAddress = `${window.location.origin}${pageData.basePath}`;

/** How the service is, maintenance included. It changes seldom, and anybody may ask. */
export const status = () =>
  queryOptions({
    queryKey: ['public status'] as const,
    queryFn: ({ signal }) => createClient({ baseUrl: apiAddress, retries: 0 }).status({ signal }),
    refetchInterval: 60_000,
    staleTime: 30_000,
  });
