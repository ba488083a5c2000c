import { useMutation, useQuery, useQueryClient, type QueryClient } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import { readSession, signIn, signOut } from '../api/operations.ts';
import { sessionKey } from '../api/read.ts';
import type { Credentials, PortalSession } from '../api/types.ts';
import { pageData } from '../page-data.ts';
import { pageBefore } from '../sign-in/next-page.ts';
import { hasUnsaved } from './unsaved.ts';

/** `hasEnded`: its user typed something that is not saved, so the page waits for them to sign in again. */
type KnownSession = PortalSession & { hasEnded?: true };

/**
 * The current session; null if nobody is signed in. The page contains it, so the first screen does not wait. It is read again
 * on focus, because the user may have signed in as somebody else in another window.
 */
export function useSession() {
  return useQuery<KnownSession | null>({
    queryKey: sessionKey,
    queryFn: async ({ client, signal }) => {
      const before = client.getQueryData<KnownSession | null>(sessionKey);
      const found = await readSession(signal);
      // The other window also asks for the second factor.
      const isSigningIn =
        found === null || (before?.user.id === found.user.id && found.missingFactor === 'confirm');
      const session = isSigningIn ? (afterEnd(client) ?? found) : found;
      clearIfChanged(client, session);
      return session;
    },
    ...(pageData.session === undefined ? {} : { initialData: pageData.session }),
    staleTime: 60_000,
    refetchOnWindowFocus: 'always',
  });
}

/** Signs in and clears the cache of any other account. False: the address or the password is wrong. */
export function useSignIn(): (credentials: Credentials) => Promise<boolean> {
  const refresh = useRefreshSession();
  return async (credentials) => {
    if (!(await signIn(credentials))) return false;
    await refresh();
    return true;
  };
}

/** Reads the session again after it has changed, and clears the cache of any other account. */
export function useRefreshSession(): () => Promise<void> {
  const client = useQueryClient();
  return async () => {
    // An answer from before the change must not come last.
    await client.cancelQueries({ queryKey: sessionKey });
    const session = await readSession();
    removeReads(client);
    client.setQueryData(sessionKey, session);
  };
}

/** Signs in after a link was used up. If that fails, the user signs in by hand and continues to `next`. */
export function useSignInAfterLink() {
  const trySignIn = useSignIn();
  const endSession = useEndSession();
  const navigate = useNavigate();
  return async (credentials: Credentials, next = '/'): Promise<boolean> => {
    if (await trySignIn(credentials).catch(() => false)) return true;
    endSession();
    await navigate(pageBefore(next, '/sign-in', { password: 'set' }), { replace: true });
    return false;
  };
}

/** Signs out and goes to a page for signing in. */
export function useSignOut(page: string) {
  const endSession = useEndSession();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: async () => {
      await signOut();
      endSession();
      // The session has ended: it is too late to ask what somebody would lose.
      await navigate(page, { replace: true });
    },
  });
}

/** Between the windows of this browser: says that somebody has signed out, or deleted their account. */
const ends = new BroadcastChannel(`${pageData.basePath} session`);

/** Marks the session as ended, here and in the other windows, without asking the service, which might not respond. */
export function useEndSession(): () => void {
  const client = useQueryClient();
  return () => {
    client.clear();
    client.setQueryData(sessionKey, null);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has one origin
    ends.postMessage('ended');
  };
}

/** What somebody typed who has signed out in another window is not kept for who comes next. */
export function forgetWithOtherWindows(client: QueryClient): void {
  ends.addEventListener('message', () => discard(client));
}

/** What the pages know once the service has refused the session. */
export function afterEnd(client: QueryClient): KnownSession | null {
  const before = client.getQueryData<KnownSession | null>(sessionKey);
  // A code that completes a sign-in is of use to that one only.
  const isWaitedFor = before?.missingFactor === null && hasUnsaved();
  return isWaitedFor ? { ...before, hasEnded: true } : null;
}

/** Ends the wait for the user of a session that has ended: what they typed is gone, and this window signs in. */
export function useDiscard(): () => void {
  const client = useQueryClient();
  return () => discard(client);
}

function discard(client: QueryClient): void {
  removeReads(client);
  client.setQueryData(sessionKey, null);
}

function clearIfChanged(client: QueryClient, session: PortalSession | null): void {
  const before = client.getQueryData<PortalSession | null>(sessionKey);
  const isSame =
    before?.user.id === session?.user.id &&
    before?.missingFactor === session?.missingFactor &&
    before?.suspendedAt === session?.suspendedAt;
  if (isSame) return;
  removeReads(client);
}

/** All but the session, whose pages notice the new one. */
function removeReads(client: QueryClient): void {
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionKey[0] });
}
