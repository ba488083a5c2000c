/** Configures caching, retries and refetching of reads. */
import { ApiError } from '@orgdir/client';
import { focusManager, notifyManager, QueryCache, QueryClient } from '@tanstack/react-query';
import { isUnauthorized, isUnreachable } from './call.ts';
import { afterEnd, forgetWithOtherWindows } from '../session/use-session.ts';
import { sessionKey } from './read.ts';

// Two windows next to each other are both always visible, so a change of visibility alone is not enough.
focusManager.setEventListener((onFocus) => {
  for (const event of ['visibilitychange', 'focus'])
    window.addEventListener(event, () => {
      // The session may have ended since a read of it began.
      if (!document.hidden) void queryClient.cancelQueries({ queryKey: sessionKey });
      onFocus();
    });
  return undefined;
});

// The default, a timer, lets a key or a click come before the page shows that a request runs: then Escape closes a dialog
// that must stay open until its result is known.
notifyManager.setScheduler(queueMicrotask);

/** Changes made elsewhere appear after this time, when a screen is opened again. */
const staleMs = 5_000;

export const queryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error, query) => {
      // The first read that finds the session ended signs out the whole page.
      if (isUnauthorized(error) && query.queryKey[0] !== sessionKey[0]) void endSession(error);
    },
  }),
  defaultOptions: {
    // Without a connection, requests fail at once: waiting silently would look like endless loading.
    queries: { staleTime: staleMs, retry: shouldRetry, networkMode: 'always' },
    mutations: {
      networkMode: 'always',
      retry: false,
      onError: (error) => {
        if (isUnauthorized(error)) void endSession(error);
      },
    },
  },
});

forgetWithOtherWindows(queryClient);

/** A session that now needs a second factor has not ended: it is read again, and the page for it is shown. */
async function endSession(error: Error): Promise<void> {
  if (error instanceof ApiError && error.details['missingFactor'] !== undefined)
    return queryClient.invalidateQueries({ queryKey: sessionKey });
  // An answer from before the end must not come last.
  await queryClient.cancelQueries({ queryKey: sessionKey });
  queryClient.setQueryData(sessionKey, afterEnd(queryClient));
}

/** A refusal repeats. A service that does not respond is shown at once, and `ConnectionBanner` asks again. */
function shouldRetry(failures: number, error: Error): boolean {
  const isFinal =
    isUnreachable(error) ||
    (error instanceof ApiError && (error.status < 500 || error.retryAfter !== null));
  return failures < 2 && !isFinal;
}
