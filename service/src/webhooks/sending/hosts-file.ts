/** Looks names up in the machine's hosts file (`/etc/hosts`) and reads it again when it changes. */
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';

export type HostsFile = { addressesOf(name: string): string[] };

/** Reads synchronously: the file is small, is kept in memory, and one system call shows whether it changed. */
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
        // The file is unreadable or gone, so the last known names stay in use.
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
