/**
 * The open streams of `GET /events/stream` in this process. A stream first gets what its caller has missed, as `GET /events`
 * would return it, and then what is distributed (`events/event-feed.ts`). All of them are looked at a few times per second:
 * whoever may not have events any more is told why and disconnected.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import pLimit, { type LimitFunction } from 'p-limit';
import { findCallers, type Caller } from '../../access/keys.ts';
import type { Usage } from '../../access/usage.ts';
import { isConnectionFault, type Database } from '../../database/database.ts';
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
const again = { headers: { 'retry-after': String(reconnectSeconds) } };
/** Of what waits to be read, in this process. A client that has more is sent the rest when it has read that. */
export const waitingBytesMax = 256 * 1024;
/** How long it may take to read what waits. */
export const slowSeconds = 10;
/** A client that was told why its stream ends has so long to read it. */
const farewellMs = 5_000;
/** A right that is lost ends a stream within a second: the other part is that processes learn of it. */
const lookMs = 250;
/** Without a look at the rights of callers for so long, an event ends streams instead of being sent. */
const confirmedMs = 2_000;
const pageMax = 100;
/** Pages that are read at the same time, so that streams which were all cut leave connections of the pool to others. */
const readingMax = 2;

type Opening = {
  /** Whose end is the end of the stream: a response that was never sent has none. */
  socket: Socket;
  caller: Caller & { appId: string };
  /** As `addressBucket` gives it. */
  address: string;
  /** Only this event, unless it is null. */
  event: string | null;
  /** Only what this webhook would be sent, unless it is null. */
  webhookId: string | null;
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
  #confirmedAt = 0;
  #isConfirming = false;
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
    const { caller, socket } = opening;
    const { appId } = caller;
    // It may have gone while its key was looked up.
    if (this.#isClosed || socket.destroyed) throw new ServiceError('unavailable', undefined, again);
    this.#enforce('An app', streamsPerAppMax, (stream) => stream.appId === appId);
    this.#enforce('An address', streamsPerAddressMax, ({ address }) => address === opening.address);
    const stream = new EventStream(this.#dependencies, {
      ...opening,
      response,
      readers: this.#readers,
      isConfirmed: () => performance.now() - this.#confirmedAt < confirmedMs,
    });
    this.#open.add(stream);
    // Its caller may have changed since it was looked up.
    this.#confirmed = null;
    if (this.#open.size === 1) this.#confirmedAt = performance.now();
    socket.once('close', () => this.#close(stream));
    this.#timer ??= setInterval(() => this.#look(), lookMs);
    try {
      // From here on it is counted, and nothing is lost between what it has missed and what comes.
      await this.#dependencies.feed.follow(stream);
      await stream.findBeginning();
    } catch (error) {
      this.#close(stream);
      throw error;
    }
    return (headers) => stream.begin(headers);
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
    throw new ServiceError('rate_limited', `${whose} can have at most ${max} streams.`, again);
  }

  #close(stream: EventStream): void {
    if (!this.#open.delete(stream)) return;
    void this.#dependencies.feed.leave(stream);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    const { health, log } = this.#dependencies;
    for (const stream of this.#open) {
      stream.endIf(() => rejectDuringMaintenance(health));
      stream.endIf(() => requireCaller(stream.caller));
      stream.beat();
    }
    if (this.#isConfirming) return;
    this.#isConfirming = true;
    this.#confirmCallers()
      .catch((err: unknown) => logUnlessAway(log, err, 'streams.unconfirmed'))
      .finally(() => (this.#isConfirming = false));
  }

  async #confirmCallers(): Promise<void> {
    const { database, revisions } = this.#dependencies;
    const at = performance.now();
    const current = revisions.current('access');
    if (current === null || current !== this.#confirmed) {
      const looked = new Set(this.#open);
      const keyIds = [...new Set([...looked].map(({ caller }) => caller.keyId))];
      const { revision, callers } = await findCallers(database, keyIds);
      for (const stream of looked)
        stream.endIf(() => {
          stream.caller = requireCaller(callers.get(stream.caller.keyId) ?? null);
        });
      this.#confirmed = this.#open.isSubsetOf(looked) ? revision : null;
    }
    this.#confirmedAt = at;
  }
}

/** The log has other lines about a database that is away: here it would be one per stream, and four per second. */
function logUnlessAway(log: Logger, err: unknown, what: string): void {
  if (!isConnectionFault(err)) log.warn({ err }, what);
}

/** Throws what a new request with this key would get. */
function requireCaller(caller: Caller | null): Caller {
  if (!caller || caller.expiresAtMs <= Date.now()) throw unauthorized();
  requireRights(caller, 'read:events');
  return caller;
}

type Given = Opening & {
  response: ServerResponse;
  readers: LimitFunction;
  /** Whether the rights of all callers were looked up a moment ago. */
  isConfirmed: () => boolean;
};

class EventStream implements Follower {
  readonly appId: string;
  readonly webhookId: string | null;
  readonly address: string;
  caller: Caller;
  isEnding = false;
  readonly #dependencies: StreamDependencies & { cursors: Cursors };
  readonly #given: Given;
  readonly #response: ServerResponse;
  /** That of the last event that was sent. */
  #position: number | null;
  #beginning = 0;
  /** While it is sent what it has missed, others come that the next page will have. */
  #isCatchingUp = true;
  #mayHaveMore = false;
  #beatsAt = 0;

  constructor(dependencies: StreamDependencies & { cursors: Cursors }, given: Given) {
    const { caller, address, after, response } = given;
    this.#dependencies = dependencies;
    this.#given = given;
    this.#response = response;
    this.appId = given.caller.appId;
    this.webhookId = given.webhookId;
    this.address = address;
    this.caller = caller;
    this.#position = after;
  }

  /** Whoever has no cursor begins after the newest event that it may have: one that moved would tell that others have events. */
  async findBeginning(): Promise<void> {
    if (this.#position !== null) return;
    const { event, webhookId, readers } = this.#given;
    const newest = { start: 0, newest: true, limit: 1, event, webhookId };
    const { database } = this.#dependencies;
    this.#beginning = (await readers(() => readEvents(database, this.appId, newest))).end;
  }

  begin(headers: Record<string, unknown>): void {
    if (this.isEnding || this.#isGone()) return;
    // Whoever has no cursor has missed only what came since the look, and gets one at once: the connection may break before
    // the first event.
    this.#isCatchingUp = this.#position !== null || this.#mayHaveMore;
    this.#position ??= this.#beginning;
    const cursor = this.#cursor(this.#position);
    // The end of the connection ends it. In chunks, each write would be three.
    this.#response.useChunkedEncodingByDefault = false;
    this.#response.writeHead(200, headers as Record<string, string>);
    this.#response.write(`retry: ${reconnectSeconds * 1_000}\nid: ${cursor}\n\n`);
    this.#beatsAt = performance.now() + heartbeatSeconds * 1_000;
    if (this.#isCatchingUp) this.#catchUp();
  }

  take(events: readonly PulledEvent[]): void {
    const from = this.#position ?? 0;
    const mine = events.filter((each) => each.position > from && this.#isWanted(each));
    if (mine.length === 0 || this.isEnding) return;
    if (!this.#given.isConfirmed()) this.end(new ServiceError('unavailable'));
    else if (this.#isCatchingUp) this.#mayHaveMore = true;
    else if (!this.#sendAll(mine)) this.#catchUp();
  }

  #isWanted({ event }: PulledEvent): boolean {
    return this.#given.event === null || this.#given.event === event;
  }

  webhookDeleted(): void {
    this.end(new ServiceError('not_found', 'The webhook was deleted.'));
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
    if (!this.#response.headersSent) return void this.#given.socket.destroy();
    const data = JSON.stringify({ code, message });
    this.#response.end(`event: stream.ended\ndata: ${data}\n\n`);
    setTimeout(() => this.#given.socket.destroy(), farewellMs).unref();
  }

  #catchUp(): void {
    this.#isCatchingUp = true;
    this.#readPages().catch((err: unknown) => {
      logUnlessAway(this.#dependencies.log, err, 'stream.not_read');
      this.end(new ServiceError('unavailable'));
    });
  }

  /** A page after the other, as fast as the client reads. */
  async #readPages(): Promise<void> {
    const { event, webhookId, readers, socket } = this.#given;
    let hasMore = true;
    while (hasMore) {
      if (this.#isFull() && !(await drained(this.#response, socket))) return this.end(tooSlow);
      if (this.isEnding || this.#isGone()) return;
      this.#mayHaveMore = false;
      const start = this.#position ?? 0;
      const page = await readers(() =>
        readEvents(this.#dependencies.database, this.appId, {
          start,
          limit: pageMax,
          event,
          webhookId,
        }),
      );
      if (this.isEnding || this.#isGone()) return;
      if (page.events.length > 0 && !this.#given.isConfirmed())
        return this.end(new ServiceError('unavailable'));
      // What does not fit is read again: to keep it would take memory.
      const isSent = this.#sendAll(page.events);
      // Also past what its filters keep back.
      if (isSent && page.end > start) this.#position = page.end;
      hasMore = !isSent || page.hasMore || this.#mayHaveMore;
    }
    this.#isCatchingUp = false;
  }

  /** Returns false if the client has so much to read that it is not sent all of them. */
  #sendAll(events: readonly PulledEvent[]): boolean {
    for (const event of events) {
      if (this.#isFull()) return false;
      this.#position = event.position;
      this.#dependencies.usage.addEvents(this.caller, 1);
      this.#response.write(`id: ${this.#cursorOf(event)}\n${frameOf(event).text}`);
    }
    return true;
  }

  #isFull(): boolean {
    return this.#response.writableLength > waitingBytesMax;
  }

  #isGone(): boolean {
    return this.#response.destroyed || this.#given.socket.destroyed;
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
  message: `More than ${waitingBytesMax / 1_024} KiB waited for ${slowSeconds} seconds to be read. Continue with the last id.`,
};

/** Resolves when the client has read what waited, or has gone; with false if it does not in time. */
function drained(response: ServerResponse, socket: Socket): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isRead: boolean) => {
      clearTimeout(timer);
      response.off('drain', read);
      socket.off('close', read);
      resolve(isRead);
    };
    const read = () => end(true);
    const timer = setTimeout(end, slowSeconds * 1_000, false);
    response.on('drain', read);
    socket.on('close', read);
    if (socket.destroyed) read();
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
