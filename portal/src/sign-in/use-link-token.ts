import { useLayoutEffect } from 'react';
import { useLocation } from 'react-router';

/**
 * The token of a link, behind its `#`, which no server and no log sees. It is taken out of the address at once, so that it
 * is in no history and on no screen; the router still knows it. Null: there is none, for example after a reload.
 */
export function useLinkToken(): string | null {
  // A new object for each link that is opened in this window, also if it is the same link.
  const location = useLocation();
  useLayoutEffect(
    () => window.history.replaceState(window.history.state, '', window.location.pathname),
    [location],
  );
  return location.hash.length > 1 ? location.hash.slice(1) : null;
}
