/** Keeps a copy of the directory in SQLite until Ctrl-C or SIGTERM. */
import { createClient } from '@orgdir/client';
import { openStore } from './store.ts';

const client = createClient({
  baseUrl: setting('ORGDIR_URL'),
  apiKey: setting('ORGDIR_API_KEY'),
});
const store = openStore(setting('DATABASE_FILE', 'directory.sqlite'));
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

console.log('keeping the copy right');
await client
  .mirror({
    store,
    pollMs: Number(setting('POLL_MS', '5000')),
    signal: stop.signal,
    onFailure: ({ message }) => console.error(`trying again: ${message}`),
  })
  .catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  })
  .finally(() => store.close());

function setting(name: string, fallback?: string): string {
  const value = process.env[name] ?? fallback;
  if (!value) throw new Error(`${name} is not set; README.md describes all settings`);
  return value;
}
