import { Center, Loader } from '@mantine/core';
import { Fragment, useState, useRef, type ReactNode } from 'react';
import { Navigate, useLocation } from 'react-router';
import { SecondFactorPage } from '../security/second-factor-page.tsx';
import { SetUpPage } from '../security/set-up-page.tsx';
import { Problem } from '../ui/problem.tsx';
import { EndedPage } from './ended-page.tsx';
import { SuspendedPage } from './suspended-page.tsx';
import { useRefreshSession, useSession } from './use-session.ts';

/** Navigation state for the sign-in page, which then shows that the session has ended. */
export type CameFrom = { hasEnded: boolean };

/**
 * Shows its children only to signed-in users. Others sign in first and then return to the page they wanted; a session that
 * misses a second factor gets the page for it in the place of that page.
 */
export function SignedIn({ children }: { children: ReactNode }) {
  const session = useSession();
  const { pathname, search, hash } = useLocation();
  const wasSignedIn = useRef(false);
  if (session.data) wasSignedIn.current = true;
  const refresh = useRefreshSession();
  const [isSettingUp, setIsSettingUp] = useState(false);
  const missing = session.data?.missingFactor;
  if (session.data?.suspendedAt) return <SuspendedPage session={session.data} />;
  if (missing === 'set_up' && !isSettingUp) setIsSettingUp(true);
  if (session.data && isSettingUp)
    return (
      // Stays until its recovery codes were seen.
      <SetUpPage
        isNeeded={missing === 'set_up'}
        done={() => {
          void refresh().then(() => setIsSettingUp(false));
        }}
      />
    );
  if (missing === 'confirm') return <SecondFactorPage />;
  // The key resets the screen when another user signs in. If the session cannot be read, the screen stays.
  if (session.data) {
    const { user, hasEnded = false } = session.data;
    return (
      <Fragment key={user.id}>
        {hasEnded && <EndedPage />}
        <div hidden={hasEnded}>{children}</div>
      </Fragment>
    );
  }
  if (session.isPending || session.isError)
    return (
      <Center component="main" mih="60vh" p="md">
        {session.isPending && <Loader aria-label="Loading" />}
        {session.isError && <Problem error={session.error} retry={() => void session.refetch()} />}
      </Center>
    );
  const next = `${pathname}${search}${hash}`;
  return (
    <Navigate
      to={next === '/' ? '/sign-in' : `/sign-in?next=${encodeURIComponent(next)}`}
      state={{ hasEnded: wasSignedIn.current } satisfies CameFrom}
      replace
    />
  );
}
