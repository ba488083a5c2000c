/** Remembers which webhooks have parked deliveries, and chooses those that have room, the quick ones first. */
import type { Database } from '../../../database/database.ts';
import { createFloor, fullLookMs, type Floor } from '../../../runtime/floor.ts';
import { listParked, transactionMaxMs, webhooksMax, type ParkedSince } from './claim.ts';
import type { Room, Speed } from './room.ts';

/** How often other processes' parked deliveries are looked for, and how soon again after some were found that may be sent. */
const listMs = 1_000;
const listAgainMs = 200;
/** Between two pages of that list. */
const pageMs = 10;
/** Webhooks of one speed that are considered at a time. */
const consideredMax = 1_000;
/** What webhooks of one speed may take of what quicker ones have left of a claim, if slower ones wait. */
const sharePerSpeed = 0.75;
/**
 * Those that answer at once come before the other quick ones: where room is scarce it is free again the soonest. Those of
 * channels that a chat platform has closed are apart, so that nobody waits behind them.
 */
type Queue = 'prompt' | Speed | 'closed';
const firstId = '00000000-0000-0000-0000-000000000000';

export class ParkedWebhooks {
  /** Where the index of each begins; see `claimParked`. Without one, older deliveries may be parked. */
  readonly since: ParkedSince = new Map();
  readonly #room: Room;
  /** The time up to which everything due was parked. */
  readonly #due: Floor<null>;
  readonly #queues: Record<Queue, Set<string>> = {
    prompt: new Set(),
    quick: new Set(),
    slow: new Set(),
    unknown: new Set(),
    stuck: new Set(),
    closed: new Set(),
  };
  readonly #floor = createFloor(null);
  #list;
  #listedAt = -Infinity;
  /** Until then, a statement that is still in flight on the server may park deliveries. */
  #unsureUntil = -Infinity;

  constructor(room: Room, due: Floor<null>) {
    this.#room = room;
    this.#due = due;
    this.#list = this.#beginList();
  }

  /** `atMs`: the database's time at which they were parked. */
  add(webhookIds: string[], atMs = longBeforeMs(this.#due.current())): void {
    this.keep(webhookIds);
    for (const webhookId of webhookIds) {
      const since = this.since.get(webhookId)?.atMs ?? -Infinity;
      this.since.set(webhookId, { atMs: Math.min(since, atMs - 1) });
    }
  }

  isEmpty(): boolean {
    return Object.values(this.#queues).every((each) => each.size === 0);
  }

  /** Whether any is there that no platform has closed. */
  isAnyOpen(): boolean {
    return Object.entries(this.#queues).some(([name, { size }]) => name !== 'closed' && size > 0);
  }

  has(webhookId: string): boolean {
    return Object.values(this.#queues).some((each) => each.has(webhookId));
  }

  /** They have more parked deliveries than were claimed. */
  keep(webhookIds: string[]): void {
    for (const webhookId of webhookIds) {
      this.#queues[this.#queueOf(webhookId)].add(webhookId);
    }
  }

  #queueOf(webhookId: string): Queue {
    if (this.#room.isClosed(webhookId)) return 'closed';
    return this.#room.isPrompt(webhookId) ? 'prompt' : this.#room.speedOf(webhookId);
  }

  /** Keeps those of which as many deliveries were leased as had room: they may have more. */
  keepUnfinished(rooms: ReadonlyMap<string, number>, leased: { webhookId: string }[]): void {
    const taken = Map.groupBy(leased, (one) => one.webhookId);
    this.keep([...rooms].flatMap(([id, most]) => (taken.get(id)?.length === most ? id : [])));
  }

  /** Takes up to `webhooksMax` webhooks out, with the number of deliveries that each may have, `most` in total. */
  takeWithRoom(most: number): Map<string, number> {
    this.#reopen();
    const rooms = new Map<string, number>();
    let left = most;
    const queues = Object.entries(this.#queues).filter(
      (each): each is ['prompt' | Speed, Set<string>] => each[0] !== 'closed' && each[1].size > 0,
    );
    for (const [index, [queue, webhooks]] of queues.entries()) {
      const speed = queue === 'prompt' ? 'quick' : queue;
      const share = index < queues.length - 1 ? sharePerSpeed : 1;
      const roomsMax = rooms.size + Math.ceil((webhooksMax - rooms.size) * share);
      const kept = speed === 'slow' ? this.#room.freeForSlow() : 0;
      let free = Math.min(Math.max(Math.ceil(left * share), kept), this.#room.freeFor(speed));
      const part = Math.max(Math.floor(free / Math.min(webhooks.size, roomsMax - rooms.size)), 1);
      let considered = Math.min(webhooks.size, consideredMax);
      for (const webhookId of webhooks) {
        if (considered === 0 || free <= 0 || rooms.size >= roomsMax) break;
        considered -= 1;
        webhooks.delete(webhookId);
        const take = Math.min(this.#room.leasable(webhookId), free, part);
        if (take > 0) rooms.set(webhookId, take);
        // To the end of its queue, or to that of its present speed.
        else this.keep([webhookId]);
        free -= take;
        left -= take;
      }
    }
    return rooms;
  }

  /** Those that are open again join the queue of their speed, and the others go to the end of theirs. */
  #reopen(): void {
    const { closed } = this.#queues;
    for (const webhookId of closed.values().take(consideredMax).toArray()) {
      closed.delete(webhookId);
      this.keep([webhookId]);
    }
  }

  /** Looks for all of them, now and for as long as a statement may take whose connection was lost. */
  findAll(): void {
    this.#floor.reset();
    this.#list = this.#beginList();
    this.#listedAt = -Infinity;
    this.#unsureUntil = performance.now() + transactionMaxMs;
  }

  /** Looks for some of those that other processes parked, if it is time, so that many cost no more than a few. */
  async find(database: Database): Promise<void> {
    if (this.nextFindMs() > 0) return;
    // A process that has died may have left a statement.
    if (!this.#room.isAlone()) this.#unsureUntil = performance.now() + transactionMaxMs;
    if (this.#list.cursor === firstId) this.#list = this.#beginList();
    const current = this.#list;
    const found = await listParked(database, current.cursor, current.look.from);
    this.add(found, longBeforeMs(current.look.from));
    if (current !== this.#list) return;
    current.foundOpen ||= found.some((id) => !this.#room.isClosed(id));
    const isLast = found.length < webhooksMax;
    if (isLast && current.begunAt !== null) current.look.reached(current.begunAt);
    current.cursor = isLast ? firstId : (found.at(-1) ?? firstId);
    this.#listedAt = performance.now();
  }

  /** An only process knows which webhooks it parked; it looks for those of an earlier process. */
  nextFindMs(): number {
    const isSure = this.#room.isAlone() && performance.now() > this.#unsureUntil;
    const pauseMs = isSure ? fullLookMs : this.#list.foundOpen ? listAgainMs : listMs;
    const waitMs = this.#list.cursor === firstId ? pauseMs : pageMs;
    return Math.max(Math.ceil(this.#listedAt + waitMs - performance.now()), 0);
  }

  #beginList() {
    const look = this.#floor.look();
    if (look.from === null) this.since.clear();
    return { cursor: firstId, look, begunAt: this.#due.current(), foundOpen: false };
  }
}

/** Before any transaction began that was not yet visible at this time. */
function longBeforeMs(at: string | null): number {
  return at === null ? -Infinity : Date.parse(at) - transactionMaxMs;
}
