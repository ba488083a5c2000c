/** What tells a key from others of the same name, such as the one in whose place it was put. */
export function nameOfKey({ name, last4 }: { name: string; last4: string }): string {
  return `${name} (…${last4})`;
}
