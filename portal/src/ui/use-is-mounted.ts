import { useCallback, useEffect, useRef } from 'react';

/** Whether the component is still on the page, for a result that arrives late. */
export function useIsMounted(): () => boolean {
  const mounted = useRef(true);
  useEffect(() => {
    mounted.current = true;
    return () => void (mounted.current = false);
  }, []);
  return useCallback(() => mounted.current, []);
}
