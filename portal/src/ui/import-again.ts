/**
 * Imports a script of the portal, and can be called again after a failure. Chromium caches a failed import until the page
 * reloads, so a retry needs another address. The error contains the failed one.
 */
let tries = 0;

export async function importAgain<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const address = addressIn(error);
    if (address === null) throw error;
    tries += 1;
    return (await import(/* @vite-ignore */ `${address}?try=${tries}`)) as T;
  }
}

/** Accepts only scripts of this origin. */
function addressIn(error: unknown): string | null {
  const [address] = /https?:\/\/\S+\.js/.exec(String(error)) ?? [];
  return address?.startsWith(`${window.location.origin}/`) ? address : null;
}
