export type Actor = {
  /** `key`: over the API. `user`: in the portal. `cli`: on the machine's command line. `system`: the service itself. */
  kind: 'key' | 'user' | 'cli' | 'system';
  /** The id of the key or user; null for the others. */
  id: string | null;
  /** The key's name, the user's email address, the machine's user, or the part of the service. */
  name: string;
};

export function keyActor({ keyId, keyName }: { keyId: string; keyName: string }): Actor {
  return { kind: 'key', id: keyId, name: keyName };
}
