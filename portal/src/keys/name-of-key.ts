/** Names a key uniquely: after a rotation, two keys have the same name. */
export function nameOfKey({ name, last4 }: { name: string; last4: string }): string {
  return `${name} (…${last4})`;
}
