import { useEffect, useSyncExternalStore } from 'react';

/** How many forms on the page have something that its user typed and has not saved. */
let places = 0;
const listeners = new Set<() => void>();

/** Keeps the page for its user beyond the end of the session, while it is rendered with true. */
export function useUnsaved(isUnsaved: boolean): void {
  useEffect(() => {
    if (!isUnsaved) return undefined;
    add(1);
    return () => add(-1);
  }, [isUnsaved]);
}

export function hasUnsaved(): boolean {
  return places > 0;
}

export function useHasUnsaved(): boolean {
  return useSyncExternalStore(subscribe, hasUnsaved);
}

function add(count: number): void {
  places += count;
  for (const changed of listeners) changed();
}

function subscribe(changed: () => void): () => void {
  listeners.add(changed);
  return () => listeners.delete(changed);
}
