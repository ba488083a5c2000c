/**
 * Imports a script of these pages. Chromium keeps a failed import for as long as the page lives, so that another try needs
 * another address; the error names the one that failed.
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

/** Nothing but a script of this service's own is ever imported. */
function addressIn(error: unknown): string | null {
  const [address] = /https?:\/\/\S+\.js/.exec(String(error)) ?? [];
  return address?.startsWith(`${window.location.origin}/`) ? address : null;
}
