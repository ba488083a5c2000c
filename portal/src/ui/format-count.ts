/** `0 keys`, `1 key`, `2 deliveries`. */
export function formatCount(count: number, thing: string): string {
  const things = `${thing.replace(/([^aeiou])y$/, '$1ie')}s`;
  return `${count.toLocaleString()} ${count === 1 ? thing : things}`;
}
