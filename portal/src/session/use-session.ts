import { useQuery, useQueryClient, type QueryClient } from '@tanstack/react-query';
import { readSession, signIn } from '../api/operations.ts';
import { sessionKey } from '../api/read.ts';
import type { Credentials, PortalSession } from '../api/types.ts';
import { pageData } from '../page-data.ts';

/**
 * Who is signed in; null: nobody. The page brings it along, so that nothing waits for it. Asked again whenever somebody comes
 * back to the window: in another they may have signed in as somebody else.
 */
export function useSession() {
  return useQuery({
    queryKey: sessionKey,
    queryFn: async ({ client, signal }) => {
      const session = await readSession(signal);
      forgetOthers(client, session);
      return session;
    },
    ...(pageData.session === undefined ? {} : { initialData: pageData.session }),
    staleTime: 60_000,
    refetchOnWindowFocus: 'always',
  });
}

/** Signs in; nothing stays of what another account saw. False: the address or the password is wrong. */
export function useSignIn(): (credentials: Credentials) => Promise<boolean> {
  const client = useQueryClient();
  return async (credentials) => {
    if (!(await signIn(credentials))) return false;
    const session = await readSession();
    client.clear();
    client.setQueryData(sessionKey, session);
    return true;
  };
}

/** After a session is known to have ended, so that nobody has to be asked, who might not answer. */
export function useEndSession(): () => void {
  const client = useQueryClient();
  return () => {
    client.clear();
    client.setQueryData(sessionKey, null);
  };
}

function forgetOthers(client: QueryClient, session: PortalSession | null): void {
  const before = client.getQueryData<PortalSession | null>(sessionKey);
  if (before?.user.id === session?.user.id) return;
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionKey[0] });
}
