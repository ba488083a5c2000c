/** Caches decrypted secrets as signing keys, and own headers, because decrypting costs more than signing. */
import { LRUCache } from 'lru-cache';
import type { SecretBox } from '../../runtime/secret-box.ts';
import { urlOwner } from './chat-platforms.ts';
import type { Clock } from './clock.ts';
import type { Deliverable } from './deliverable.ts';
import { headersOwner, parseOwnHeaders, type OpenedHeaders } from './own-headers.ts';
import { waitMaxMs } from './retry.ts';
import { type SigningKey, type SigningSecrets, signingKey } from './sign.ts';
import type { Logger } from '../../runtime/log.ts';

export type SigningKeys = {
  /** Returns the key in `sealed`, a secret of this webhook. Throws if no key of SECRET_KEY opens it. */
  get(webhookId: string, sealed: Buffer): SigningKey;
  /** Returns the headers in `sealed`, those of this webhook. Throws as `get` does. */
  headers(webhookId: string, sealed: Buffer): OpenedHeaders;
  /** Returns the URL of a chat channel. Throws as `get` does. */
  openUrl(webhookId: string, sealedUrl: Buffer): string;
};

/** Webhooks kept in memory, some hundred bytes per secret. */
const keptMax = 5_000;
/** The current secret and, during a rotation, the previous one. */
const secretsMax = 2;
/** Webhooks with headers of their own kept in memory, up to 8 KiB each. */
const headersKeptMax = 1_000;

export function createSigningKeys(secretBox: SecretBox): SigningKeys {
  return {
    get: cacheOpened((webhookId, sealed) => signingKey(secretBox.open(sealed, webhookId)), {
      webhooks: keptMax,
      perWebhook: secretsMax,
    }),
    headers: cacheOpened(
      (webhookId, sealed) => parseOwnHeaders(secretBox.open(sealed, headersOwner(webhookId))),
      { webhooks: headersKeptMax, perWebhook: 1 },
    ),
    openUrl: (webhookId, sealedUrl) => secretBox.open(sealedUrl, urlOwner(webhookId)),
  };
}

function cacheOpened<Value>(
  open: (webhookId: string, sealed: Buffer) => Value,
  max: { webhooks: number; perWebhook: number },
): (webhookId: string, sealed: Buffer) => Value {
  const kept = new LRUCache<string, { sealed: Buffer; value: Value }[]>({ max: max.webhooks });
  return (webhookId, sealed) => {
    const known = kept.get(webhookId) ?? [];
    // Compares ciphertexts: a rotated secret has another, and a secret of another webhook does not open.
    const same = known.find((one) => one.sealed.equals(sealed));
    if (same) return same.value;
    const value = open(webhookId, sealed);
    kept.set(webhookId, [{ sealed, value }, ...known.slice(0, max.perWebhook - 1)]);
    return value;
  };
}

type Dependencies = { signingKeys: SigningKeys; clock: Clock; log: Logger };

/** The URL of a chat channel; null if it cannot be decrypted, which is logged like a secret that cannot. */
export function openUrl(
  dependencies: Dependencies,
  webhookId: string,
  sealedUrl: Buffer,
): string | null {
  return tryToOpen(dependencies, webhookId, (keys) => keys.openUrl(webhookId, sealedUrl));
}

type Sealed = {
  webhookId: string;
  secret: Buffer;
  previousSecret: Buffer | null;
  ownHeaders: Buffer | null;
};
type Opened = SigningSecrets & { ownHeaders: OpenedHeaders | null };

export function openSecrets(
  dependencies: Dependencies,
  { webhookId, secret, previousSecret, ownHeaders }: Sealed,
): Opened | null {
  return tryToOpen(dependencies, webhookId, (keys) => ({
    current: keys.get(webhookId, secret),
    previous: previousSecret && keys.get(webhookId, previousSecret),
    ownHeaders: ownHeaders && keys.headers(webhookId, ownHeaders),
  }));
}

/** Whether this process can read a webhook again that it could not read the last time. */
export function isReadableAgain(dependencies: Dependencies, delivery: Deliverable): boolean {
  const { webhookId, chat } = delivery;
  if (unreadableSince(webhookId) === undefined) return false;
  const opened = chat
    ? openUrl(dependencies, webhookId, chat.sealedUrl)
    : openSecrets(dependencies, delivery);
  return opened !== null;
}

/** One line per webhook and minute; otherwise the backlog of one webhook would fill the log. */
const logAgainMs = 60_000;
/** Webhooks that are remembered; deliveries of others may wait for longer. */
const unreadableMax = 20_000;
/** The webhooks that this process cannot read, unless nobody has looked at them for a day: since when, and when that was logged last. */
const unreadable = new LRUCache<string, { sinceMs: number; loggedMs: number }>({
  max: unreadableMax,
  ttl: waitMaxMs,
});

/** In milliseconds since 1970; undefined if the webhook could be read the last time. */
export function unreadableSince(webhookId: string): number | undefined {
  return unreadable.get(webhookId)?.sinceMs;
}

function tryToOpen<Value>(
  { signingKeys, clock, log }: Dependencies,
  webhookId: string,
  open: (signingKeys: SigningKeys) => Value,
): Value | null {
  try {
    const value = open(signingKeys);
    unreadable.delete(webhookId);
    return value;
  } catch (error) {
    noteUnreadable(webhookId, clock, () =>
      log.error({ webhookId, reason: (error as Error).message }, 'secret.unreadable'),
    );
    return null;
  }
}

/** Calls `log` once a minute. `what` is the id of a webhook, or a name of something else that deliveries need. */
export function noteUnreadable(what: string, clock: Clock, log: () => void): void {
  const nowMs = clock.now().getTime();
  const { sinceMs = nowMs, loggedMs = -Infinity } = unreadable.get(what) ?? {};
  const isLogged = nowMs - loggedMs < logAgainMs;
  if (!isLogged) log();
  unreadable.set(what, { sinceMs, loggedMs: isLogged ? loggedMs : nowMs });
}
