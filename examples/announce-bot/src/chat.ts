/** Posts to an incoming webhook of a chat, such as Discord's: one POST is one message. */

export type Chat = { post(content: string): Promise<void> };

export class ChatError extends Error {
  override readonly name = 'ChatError';
  /** Whether the message may have been posted despite the error. */
  readonly mayHaveArrived: boolean;
  /** How long to wait before retrying, in seconds, if the chat says so. */
  readonly retryAfter: number | null;

  constructor(message: string, mayHaveArrived: boolean, retryAfter: number | null = null) {
    super(message);
    this.mayHaveArrived = mayHaveArrived;
    this.retryAfter = retryAfter;
  }
}

const timeoutMs = 10_000;

/** The URL contains a secret, so no error or log includes it. */
export function createChat(webhookUrl: string): Chat {
  return {
    async post(content) {
      // A name such as @everyone must not mention anybody.
      const body = JSON.stringify({ content, allowed_mentions: { parse: [] } });
      const response = await fetch(webhookUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
        signal: AbortSignal.timeout(timeoutMs),
      }).catch(toChatError);
      await response.body?.cancel();
      if (!response.ok)
        throw new ChatError(
          `the chat responded with ${response.status}`,
          false,
          readRetryAfter(response),
        );
    },
  };
}

/** The message certainly did not arrive only if there was no connection. */
function toChatError(error: unknown): never {
  const { code = '' } = ((error as Error).cause ?? {}) as { code?: string };
  const neverSent = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'];
  throw new ChatError(`the chat did not respond ${code}`.trim(), !neverSent.includes(code));
}

function readRetryAfter({ headers }: Response): number | null {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return seconds >= 0 ? seconds : null;
}
