/** Where organisations chat, as the chat sync sees it: who tells how many members a server has. */

export type ChatAnswer =
  | { kind: 'members'; members: number }
  /** This server alone cannot be read; the others may be. */
  | { kind: 'refused'; reason: string }
  /** The provider gave no usable answer: it may be away. */
  | { kind: 'away'; reason: string }
  /** The provider knows us no more; asking for others would be in vain. */
  | { kind: 'unauthorized'; reason: string };

/** `reason` is in our own words: what a provider says could hold anything. */
export type ChatProvider = {
  /** As it stands in the event: `discord`. */
  name: string;
  /** Never throws but for `signal`. Waits as the provider asks, but not past `deadline` (of `performance.now()`). */
  readMembers(serverId: string, deadline: number, signal: AbortSignal): Promise<ChatAnswer>;
  close(): Promise<void>;
};
