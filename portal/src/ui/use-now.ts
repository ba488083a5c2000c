import { useSyncExternalStore } from 'react';

const everyMs = 5_000;
const listeners = new Set<() => void>();
let timer: number | undefined;

/**
 * Derives a value from the current time and keeps it up to date. The component renders again only when the value changes.
 * All components share one timer.
 */
export function useNow(derive: (nowMs: number) => string): string {
  return useSyncExternalStore(subscribe, () => derive(Date.now()));
}

function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) timer = window.setInterval(notifyListeners, everyMs);
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) window.clearInterval(timer);
  };
}

function notifyListeners(): void {
  for (const listener of listeners) listener();
}
