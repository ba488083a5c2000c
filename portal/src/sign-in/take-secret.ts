/**
 * What a link brought in its address, which is taken out of it at once: it stays in no history, and on nobody's screen.
 * The router keeps its own idea of the address, in which nothing else looks.
 */
export function takeSecret(read: (address: URL) => string | null): string | null {
  const address = new URL(window.location.href);
  const secret = read(address);
  window.history.replaceState(window.history.state, '', address.pathname);
  return secret;
}
