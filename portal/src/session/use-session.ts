import { useQuery, useQueryClient } from '@tanstack/react-query';
import { call, type Answer } from '../api/call.ts';
import { isUnauthorized } from '../api/query-client.ts';
import { sessionKey } from '../api/read.ts';
import type { PortalSession } from '../api/types.ts';
import { pageData } from '../page-data.ts';

/** Who is signed in; null: nobody. The page brings it along, so that nothing waits for it. */
export function useSession() {
  return useQuery({
    queryKey: sessionKey,
    queryFn: async ({ signal }) => readSession(signal),
    ...(pageData.session === undefined ? {} : { initialData: pageData.session }),
    staleTime: 60_000,
  });
}

/** After somebody has signed in or out: nothing that the one before saw stays. */
export function useChangeSession(): () => Promise<void> {
  const client = useQueryClient();
  return async () => {
    const session = await readSession();
    client.clear();
    client.setQueryData(sessionKey, session);
  };
}

async function readSession(signal?: AbortSignal): Promise<PortalSession | null> {
  try {
    const answer = await call<Answer<PortalSession>>({
      path: '/session',
      ...(signal && { signal }),
    });
    return answer.data;
  } catch (error) {
    if (isUnauthorized(error)) return null;
    throw error;
  }
}
