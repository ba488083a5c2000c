import type { actorKinds } from '../contract/portal.ts';

export type Actor = {
  /**
   * `key`: over the API. `user`: in the portal. `operator`: in the console. `cli`: on the machine's command line. `system`: the
   * service itself. Members of apps see the names of the first two.
   */
  kind: (typeof actorKinds)[number];
  /** The id of the key or user; null for the others. */
  id: string | null;
  /** The key's name, the user's email address, the machine's user, or the part of the service. */
  name: string;
};

export function keyActor({ keyId, keyName }: { keyId: string; keyName: string }): Actor {
  return { kind: 'key', id: keyId, name: keyName };
}
