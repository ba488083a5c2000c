import { useLayoutEffect } from 'react';
import { useLocation } from 'react-router';

/**
 * Reads the token from the hash of a link, which browsers do not send to servers. It is removed from the address at once, to
 * keep it out of the history and off the screen; the router still has it. Null: no token, for example after a reload.
 */
export function useLinkToken(): string | null {
  // The router gives a new object for each opened link, even for the same one.
  const location = useLocation();
  useLayoutEffect(
    () => window.history.replaceState(window.history.state, '', window.location.pathname),
    [location],
  );
  return location.hash.length > 1 ? location.hash.slice(1) : null;
}
