/** One clock for everything on the screen that says how long ago something was. */
const everyMs = 5_000;
const listeners = new Set<() => void>();
let timer: number | undefined;

/** Says now and then that time has passed, until what it answers is called. */
export function onTick(listener: () => void): () => void {
  if (listeners.size === 0) timer = window.setInterval(tick, everyMs);
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) window.clearInterval(timer);
  };
}

function tick(): void {
  for (const listener of listeners) listener();
}
