/** The chat provider as the chat sync uses it: it counts the members of a server. */

export type ChatAnswer =
  | { kind: 'members'; members: number }
  /** Only this server cannot be read. */
  | { kind: 'refused'; reason: string }
  /** The provider gave no usable response; it may be down. */
  | { kind: 'away'; reason: string }
  /** The provider no longer accepts our credentials; asking again would be useless. */
  | { kind: 'unauthorized'; reason: string };

/** `reason` is our own text, because a provider's message could contain anything. */
export type ChatProvider = {
  /** The name in the event: `discord`. */
  name: string;
  /** Throws only when `signal` aborts. Waits as the provider asks, but not past `deadline` (in `performance.now()`). */
  readMembers(serverId: string, deadline: number, signal: AbortSignal): Promise<ChatAnswer>;
  close(): Promise<void>;
};
