/** The names that the machine itself knows (`/etc/hosts`), read again when the file changes. */
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';

export type HostsFile = { addressesOf(name: string): string[] };

/** Read in step with its caller: a file of a few lines in memory, whose state is one system call away. */
export function openHostsFile(path = '/etc/hosts'): HostsFile {
  let names = new Map<string, string[]>();
  let seen = '';

  function refresh(): void {
    const { mtimeMs = 0, size = 0, ino = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
    const state = `${mtimeMs} ${size} ${ino}`;
    if (state === seen) return;
    names = size === 0 ? new Map() : parseHosts(readFileSync(path, 'utf8'));
    seen = state;
  }

  return {
    addressesOf(name) {
      try {
        refresh();
      } catch {
        // Unreadable, or gone since it was looked at: what was known goes on.
      }
      return names.get(name) ?? [];
    },
  };
}

function parseHosts(text: string): Map<string, string[]> {
  const names = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...aliases] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (!isIP(address)) continue;
    for (const alias of aliases) {
      const name = alias.toLowerCase().replace(/\.$/, '');
      names.set(name, [...new Set([...(names.get(name) ?? []), address])]);
    }
  }
  return names;
}
