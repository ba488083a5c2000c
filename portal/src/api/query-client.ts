/** How reads are kept, repeated and made anew. */
import { ApiError } from '@orgdir/client';
import { focusManager, QueryCache, QueryClient } from '@tanstack/react-query';
import { isUnauthorized } from './call.ts';
import { sessionKey } from './read.ts';

// Of two windows side by side both can be seen all the time: coming back is taking the focus, too.
focusManager.setEventListener((comeBack) => {
  for (const event of ['visibilitychange', 'focus'])
    window.addEventListener(event, () => comeBack());
  return undefined;
});

/** A change elsewhere shows when a screen is opened again, or after this. */
const staleMs = 5_000;

export const queryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error, query) => {
      // Whatever finds out first that the session has ended tells everything else.
      if (isUnauthorized(error) && query.queryKey[0] !== sessionKey[0])
        queryClient.setQueryData(sessionKey, null);
    },
  }),
  defaultOptions: {
    // What fails for want of a connection says so: waiting for one in silence would look like an endless load.
    queries: { staleTime: staleMs, retry: isWorthRepeating, networkMode: 'always' },
    mutations: {
      networkMode: 'always',
      retry: false,
      onError: (error) => {
        if (isUnauthorized(error)) queryClient.setQueryData(sessionKey, null);
      },
    },
  },
});

/** What the service refused it refuses again; where it says when to ask again, people are told so at once. */
function isWorthRepeating(failures: number, error: Error): boolean {
  const isSaid = error instanceof ApiError && (error.status < 500 || error.retryAfter !== null);
  return failures < 2 && !isSaid;
}
