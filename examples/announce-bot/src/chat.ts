/** An incoming webhook of a chat, as Discord has them: one POST is one message. */

export type Chat = { post(content: string): Promise<void> };

export class ChatError extends Error {
  override readonly name = 'ChatError';
  /** Whether the message may be in the chat all the same. */
  readonly mayHaveArrived: boolean;
  /** In how many seconds to try again, where the chat says so. */
  readonly retryAfter: number | null;

  constructor(message: string, mayHaveArrived: boolean, retryAfter: number | null = null) {
    super(message);
    this.mayHaveArrived = mayHaveArrived;
    this.retryAfter = retryAfter;
  }
}

const timeoutMs = 10_000;

/** The address holds the chat's secret: it is in no error and no log. */
export function createChat(webhookUrl: string): Chat {
  return {
    async post(content) {
      // Names come from outside: nobody is to be called by one such as @everyone.
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
          `the chat answered ${response.status}`,
          false,
          readRetryAfter(response),
        );
    },
  };
}

/** Only where no connection came about is it certain that nothing arrived. */
function toChatError(error: unknown): never {
  const { code = '' } = ((error as Error).cause ?? {}) as { code?: string };
  const neverSent = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'];
  throw new ChatError(`the chat did not answer ${code}`.trim(), !neverSent.includes(code));
}

function readRetryAfter({ headers }: Response): number | null {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return seconds >= 0 ? seconds : null;
}
