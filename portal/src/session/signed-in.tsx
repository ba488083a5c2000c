import { Center, Loader } from '@mantine/core';
import { Fragment, useRef, type ReactNode } from 'react';
import { Navigate, useLocation } from 'react-router';
import { Problem } from '../ui/problem.tsx';
import { useSession } from './use-session.ts';

/** What the page to sign in is told: whether somebody was signed in until a moment ago. */
export type CameFrom = { hasEnded: boolean };

/** What only somebody who is signed in may see. Others sign in first, and come back to where they wanted to go. */
export function SignedIn({ children }: { children: ReactNode }) {
  const session = useSession();
  const { pathname, search } = useLocation();
  const wasSignedIn = useRef(false);
  if (session.data) wasSignedIn.current = true;
  // Another person's screen is another one. What is on it stays while nobody can say whose it is.
  if (session.data) return <Fragment key={session.data.user.id}>{children}</Fragment>;
  if (session.isPending)
    return (
      <Center component="main" mih="60vh">
        <Loader aria-label="Loading" />
      </Center>
    );
  if (session.isError)
    return (
      <Center component="main" mih="60vh" p="md">
        <Problem error={session.error} retry={() => void session.refetch()} />
      </Center>
    );
  const next = `${pathname}${search}`;
  return (
    <Navigate
      to={next === '/' ? '/sign-in' : `/sign-in?next=${encodeURIComponent(next)}`}
      state={{ hasEnded: wasSignedIn.current } satisfies CameFrom}
      replace
    />
  );
}
