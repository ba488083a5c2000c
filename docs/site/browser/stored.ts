/** The browser's storage. A browser that blocks it throws on every access; choices then end with the page. */
type Storage = 'localStorage' | 'sessionStorage';

export function readStored(storage: Storage, key: string): string | null {
  try {
    return window[storage].getItem(key);
  } catch {
    return null;
  }
}

export function writeStored(storage: Storage, key: string, value: string): void {
  try {
    window[storage].setItem(key, value);
  } catch {
    // The choice lasts until the page is left.
  }
}
