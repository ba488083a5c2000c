import { userInfo } from 'node:os';
import type { Actor } from '../access/actor.ts';

/** The actor of a command: the machine's user. */
export function cliActor(): Actor {
  return { kind: 'cli', id: null, name: userName() };
}

/** In a container a user may have a number and no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
