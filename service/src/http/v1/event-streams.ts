/**
 * The open streams of `GET /events/stream` in this process. A stream first gets what its caller has missed, as `GET /events`
 * would return it, and then what is distributed (`events/event-feed.ts`). All of them are looked at a few times per second:
 * whoever may not have events any more is told why and disconnected.
 */
import type { ServerResponse } from 'node:http';
import pLimit, { type LimitFunction } from 'p-limit';
import { findCallers, type Caller } from '../../access/keys.ts';
import type { Usage } from '../../access/usage.ts';
import type { Database } from '../../database/database.ts';
import type { Revisions } from '../../database/revisions.ts';
import { ServiceError } from '../../errors.ts';
import type { Cursors } from '../../events/cursors.ts';
import type { EventFeed, Follower } from '../../events/event-feed.ts';
import { readEvents, type PulledEvent } from '../../events/pull-events.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import type { Health } from '../../system/health.ts';
import { rejectDuringMaintenance, requireRights, unauthorized } from '../admission/admit.ts';

export type StreamDependencies = {
  database: Database;
  revisions: Pick<Revisions, 'current'>;
  health: Health;
  usage: Usage;
  metrics: Pick<Metrics, 'eventStreams'>;
  feed: EventFeed;
  log: Logger;
};

/** docs/reference/events.md#live-stream. In each process. */
export const streamsPerAppMax = 5;
export const streamsPerAddressMax = 20;
/** Comments that keep proxies from ending a quiet stream. By the clock alone: they tell nothing about events. */
export const heartbeatSeconds = 15;
/** How long a client waits before it connects again, unless it knows better. */
export const reconnectSeconds = 3;
/** What may wait for a client that reads more slowly than events come. */
export const waitingBytesMax = 256 * 1024;
/** A client that was told why its stream ends has so long to read it. */
const farewellMs = 5_000;
/** A right that is lost ends a stream within a second: the other part is that processes learn of it. */
const lookMs = 250;
const pageMax = 100;
/** Pages that are read at the same time, so that streams which were all cut leave connections of the pool to others. */
const readingMax = 2;

type Opening = {
  caller: Caller & { appId: string };
  /** As `addressBucket` gives it. */
  address: string;
  /** Null: only this event. */
  event: string | null;
  /** The position after which it begins. Null: the newest. */
  after: number | null;
};

export class EventStreams {
  readonly #dependencies: StreamDependencies & { cursors: Cursors };
  readonly #open = new Set<EventStream>();
  readonly #readers = pLimit(readingMax);
  #timer: NodeJS.Timeout | undefined;
  /** The revision of `access` at which all callers were looked up last. */
  #confirmed: number | null = null;
  #isLooking = false;
  #isClosed = false;

  constructor(dependencies: StreamDependencies & { cursors: Cursors }) {
    this.#dependencies = dependencies;
    dependencies.metrics.eventStreams(
      () => [...this.#open].filter(({ isEnding }) => !isEnding).length,
    );
  }

  /**
   * Returns a function that begins to send, with these headers: until then the response is the caller's. Throws
   * `rate_limited` and `unavailable`.
   */
  async open(
    response: ServerResponse,
    opening: Opening,
  ): Promise<(headers: Record<string, unknown>) => void> {
    const { appId } = opening.caller;
    if (this.#isClosed) throw new ServiceError('unavailable');
    this.#enforce('An app', streamsPerAppMax, (stream) => stream.appId === appId);
    this.#enforce('An address', streamsPerAddressMax, ({ address }) => address === opening.address);
    const stream = new EventStream(this.#dependencies, this.#readers, response, opening);
    this.#open.add(stream);
    // Its caller may have changed since it was looked up.
    this.#confirmed = null;
    response.once('close', () => this.#close(stream));
    this.#timer ??= setInterval(() => void this.#look(), lookMs);
    try {
      // From here on it is counted, and nothing is lost between what it has missed and what comes.
      await this.#dependencies.feed.follow(stream);
    } catch (error) {
      this.#close(stream);
      throw error;
    }
    return (headers) => void stream.begin(headers);
  }

  /** Ends all streams, and opens no other. */
  close(): void {
    this.#isClosed = true;
    for (const stream of this.#open)
      stream.end(new ServiceError('unavailable', 'The service stops. Connect again.'));
  }

  #enforce(whose: string, max: number, isOne: (stream: EventStream) => boolean): void {
    const count = [...this.#open].filter(isOne).length;
    if (count < max) return;
    throw new ServiceError('rate_limited', `${whose} can have at most ${max} streams.`, {
      headers: { 'retry-after': String(reconnectSeconds) },
    });
  }

  #close(stream: EventStream): void {
    if (!this.#open.delete(stream)) return;
    void this.#dependencies.feed.leave(stream);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const { health } = this.#dependencies;
      const now = Date.now();
      for (const stream of this.#open) {
        stream.endIf(() => rejectDuringMaintenance(health));
        stream.endIf(() => requireCaller(stream.caller, now));
        stream.beat();
      }
      await this.#confirmCallers();
    } catch (err) {
      // They get nothing meanwhile: events come from the same database.
      this.#dependencies.log.warn({ err }, 'streams.unconfirmed');
    } finally {
      this.#isLooking = false;
    }
  }

  async #confirmCallers(): Promise<void> {
    const { database, revisions } = this.#dependencies;
    const current = revisions.current('access');
    if (this.#open.size === 0 || (current !== null && current === this.#confirmed)) return;
    const looked = [...this.#open];
    const keyIds = [...new Set(looked.map(({ caller }) => caller.keyId))];
    const { revision, callers } = await findCallers(database, keyIds);
    for (const stream of looked)
      stream.endIf(() => requireCaller(callers.get(stream.caller.keyId) ?? null, Date.now()));
    this.#confirmed = looked.length === this.#open.size ? revision : null;
  }
}

/** Throws what a new request with this key would get. */
function requireCaller(caller: Caller | null, nowMs: number): void {
  if (!caller || caller.expiresAtMs <= nowMs) throw unauthorized();
  requireRights(caller, 'read:events');
}

class EventStream implements Follower {
  readonly appId: string;
  readonly address: string;
  readonly caller: Caller;
  isEnding = false;
  readonly #dependencies: StreamDependencies & { cursors: Cursors };
  readonly #readers: LimitFunction;
  readonly #response: ServerResponse;
  readonly #event: string | null;
  /** That of the last event that was sent. */
  #position: number | null;
  /** While it is sent what it has missed, others come that the next page will have. */
  #isCatchingUp = true;
  #mayHaveMore = false;
  #beatsAt = 0;

  constructor(
    dependencies: StreamDependencies & { cursors: Cursors },
    readers: LimitFunction,
    response: ServerResponse,
    { caller, address, event, after }: Opening,
  ) {
    this.#dependencies = dependencies;
    this.#readers = readers;
    this.#response = response;
    this.appId = caller.appId;
    this.address = address;
    this.caller = caller;
    this.#event = event;
    this.#position = after;
  }

  async begin(headers: Record<string, unknown>): Promise<void> {
    const { feed } = this.#dependencies;
    if (this.isEnding || this.#response.destroyed) return;
    // Whoever has no cursor has missed nothing, and gets one at once: the connection may break before the first event.
    this.#isCatchingUp = this.#position !== null;
    this.#position ??= feed.position;
    // Ended by its connection. In chunks, a write would take three times as long.
    this.#response.useChunkedEncodingByDefault = false;
    this.#response.writeHead(200, headers as Record<string, string>);
    this.#response.write(
      `retry: ${reconnectSeconds * 1_000}\nid: ${this.#cursor(this.#position)}\n\n`,
    );
    this.#beatsAt = performance.now() + heartbeatSeconds * 1_000;
    try {
      if (this.#isCatchingUp) await this.#catchUp();
    } catch (err) {
      this.#dependencies.log.warn({ err }, 'stream.not_read');
      this.end(new ServiceError('unavailable'));
    }
  }

  take(events: readonly PulledEvent[]): void {
    const from = this.#position ?? 0;
    const mine = events.filter(
      ({ position, event }) => position > from && (this.#event ?? event) === event,
    );
    if (mine.length === 0 || this.isEnding) return;
    if (this.#isCatchingUp) this.#mayHaveMore = true;
    else if (this.#response.writableLength > waitingBytesMax) this.end(tooSlow);
    else this.#send(mine);
  }

  goBack(position: number): void {
    if (this.#position !== null) this.#position = Math.min(this.#position, position);
  }

  beat(): void {
    const now = performance.now();
    if (this.#beatsAt === 0 || now < this.#beatsAt || this.isEnding) return;
    this.#beatsAt += heartbeatSeconds * 1_000;
    this.#response.write(':\n\n');
  }

  endIf(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.end(error as ServiceError);
    }
  }

  /** Tells the client why. */
  end({ code, message }: { code: string; message: string }): void {
    if (this.isEnding) return;
    this.isEnding = true;
    if (!this.#response.headersSent) return void this.#response.destroy();
    const data = JSON.stringify({ code, message });
    this.#response.end(`event: stream.ended\ndata: ${data}\n\n`);
    setTimeout(() => this.#response.destroy(), farewellMs).unref();
  }

  /** A page after the other, as fast as the client reads. */
  async #catchUp(): Promise<void> {
    const { database } = this.#dependencies;
    const event = this.#event;
    let hasMore = true;
    while (hasMore) {
      this.#mayHaveMore = false;
      const page = await this.#readers(() =>
        readEvents(database, this.appId, { start: this.#position ?? 0, limit: pageMax, event }),
      );
      if (this.isEnding || this.#response.destroyed) return;
      if (page.events.length > 0 && !this.#send(page.events)) await drained(this.#response);
      hasMore = page.hasMore || this.#mayHaveMore;
    }
    this.#isCatchingUp = false;
  }

  /** Returns whether the client keeps up. */
  #send(events: readonly PulledEvent[]): boolean {
    const text = events.map((event) => `id: ${this.#cursorOf(event)}\n${frameOf(event).text}`);
    this.#position = events.at(-1)?.position ?? this.#position;
    this.#dependencies.usage.addEvents(this.caller, events.length);
    return this.#response.write(text.join(''));
  }

  #cursorOf(event: PulledEvent): string {
    const { cursors } = frameOf(event);
    let cursor = cursors.get(this.appId);
    if (cursor === undefined) cursors.set(this.appId, (cursor = this.#cursor(event.position)));
    return cursor;
  }

  #cursor(position: number): string {
    return this.#dependencies.cursors.encode(this.appId, position);
  }
}

const tooSlow = {
  code: 'too_slow',
  message: `More than ${waitingBytesMax / 1_024} KiB waited to be read. Continue with the last id.`,
};

/** Resolves when the client has read what waited, or has gone. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      response.off('drain', end).off('close', end);
      resolve();
    };
    response.on('drain', end).on('close', end);
    if (response.destroyed) end();
  });
}

type Frame = {
  text: string;
  /** By app: an app may have several streams. */
  cursors: Map<string, string>;
};

/** What of an event is the same for several streams. */
const frames = new WeakMap<PulledEvent, Frame>();

/** https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream */
function frameOf(event: PulledEvent): Frame {
  let frame = frames.get(event);
  if (frame === undefined) {
    // Between the tokens of JSON, a line end means as little as the one that joins these lines again.
    const lines = toJson(event).split(/\r\n|\r|\n/);
    const text = `event: ${event.event}\n${lines.map((line) => `data: ${line}\n`).join('')}\n`;
    frames.set(event, (frame = { text, cursors: new Map() }));
  }
  return frame;
}

/** JSON from text, because `data` is JSON text already and parsing it would change its bytes. */
export function toJson({ id, event, createdAt, data }: PulledEvent): string {
  return `{"id":"${id}","event":"${event}","createdAt":"${createdAt}","data":${data}}`;
}
