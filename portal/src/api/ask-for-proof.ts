/**
 * Asks the user to confirm that it is them, when the service requires it for a request. Requests that need it at the same
 * time wait for the same dialog (`security/proof-dialog.tsx`).
 */
let waiting: ((hasProved: boolean) => void)[] = [];
const listeners = new Set<() => void>();

/** Resolves with false if the user cancels. */
export function askForProof(): Promise<boolean> {
  return new Promise((resolve) => {
    waiting = [...waiting, resolve];
    for (const changed of listeners) changed();
  });
}

export function answerProof(hasProved: boolean): void {
  const answered = waiting;
  waiting = [];
  for (const changed of listeners) changed();
  for (const resolve of answered) resolve(hasProved);
}

export function isAskingForProof(): boolean {
  return waiting.length > 0;
}

export function subscribeToProof(changed: () => void): () => void {
  listeners.add(changed);
  return () => listeners.delete(changed);
}
