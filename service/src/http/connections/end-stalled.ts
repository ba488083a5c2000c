/**
 * Ends connections whose clients leave a response waiting, on any listener: what waits is memory of this process. Also
 * ends requests of the internal listener whose bodies do not arrive.
 */
import { readFile, readlink } from 'node:fs/promises';
import type { Socket } from 'node:net';
import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/** docs/reference/errors-and-limits.md#public-api: over 30 s, a client takes 1 KiB/s of what waits for it. */
export const bytesPerSecondMin = 1024;
export const defaults = { windowMs: 30_000, checkEveryMs: 5_000 };
/** The bytes that may wait in a process while some clients take nothing. */
export const waitingBytesMax = 32 * 1024 * 1024;
/** From half of these, clients are looked at this often. */
const lookEveryMs = 250;
/** Only clients that have taken nothing for so long give way to others. */
const idleMsMax = 1_000;

type Output = {
  /** Bytes that wait in this process. */
  waiting: number;
  /** Bytes that the kernel has taken from this process. */
  written: number;
};
type Taken = {
  at: number;
  /** Bytes that the client had taken. */
  taken: number;
};
type Sample = Taken & {
  /** All that there was to take. */
  offered: number;
};
type Connection = {
  socket: Socket;
  /** For /proc/net/tcp; null until it was needed. */
  inode: string | null;
  /** Of the checks of the last window, oldest first. Empty while nothing waits. */
  samples: Sample[];
  /** `written` when the client was last seen to have everything. */
  delivered: number;
  /** When the client was last seen to take something. Null while nothing waits. */
  progress: Taken | null;
  /** When it was first idle for long. What it had taken by then may be no more than its kernel's buffer. */
  idleFrom: Taken | null;
};
type Waiting = { connection: Connection; sample: Sample };

/** A connection with nothing to send is never ended here, however long its request takes. */
export function endStalledResponses(
  app: FastifyInstance,
  { windowMs, checkEveryMs } = defaults,
): void {
  const connections = new Map<Socket, Connection>();
  let timer: NodeJS.Timeout | undefined;
  let isLooking = false;
  let checksAt = 0;
  app.server.on('connection', (socket) => {
    timer ??= setInterval(() => void look(), lookEveryMs).unref();
    connections.set(socket, { socket, inode: null, delivered: 0, ...nothingWaits() });
    socket.once('close', () => connections.delete(socket));
  });
  app.addHook('onClose', async () => clearInterval(timer));

  async function look(): Promise<void> {
    const isCheck = performance.now() >= checksAt;
    if (isLooking || !(isCheck || sumWaiting(connections.values()) > waitingBytesMax / 2)) return;
    isLooking = true;
    try {
      const waiting = await observe([...connections.values()].filter(mayWait));
      if (isCheck) {
        checksAt = performance.now() + checkEveryMs;
        endSlow(waiting, windowMs);
      }
      endIdle(waiting, sumWaiting(connections.values()));
    } finally {
      isLooking = false;
    }
  }
}

function nothingWaits() {
  return { samples: [], progress: null, idleFrom: null };
}

/** Includes writes of which the kernel has taken a part: they stay in memory until their end. */
function sumWaiting(connections: Iterable<Connection>): number {
  let total = 0;
  for (const { socket } of connections) total += socket.writableLength;
  return total;
}

/** Whether something was written since the client was last seen to have everything. */
function mayWait({ socket, delivered }: Connection): boolean {
  const { waiting, written } = outputOf(socket);
  return waiting > 0 || written !== delivered;
}

/** Those for which something waits, here or in the kernel. */
async function observe(connections: Connection[]): Promise<Waiting[]> {
  if (connections.length === 0) return [];
  const before = connections.map(({ socket }) => outputOf(socket));
  const queues = await readSendQueues(connections);
  const at = performance.now();
  return connections.flatMap((connection, index) => {
    const { socket, inode } = connection;
    const { waiting, written } = outputOf(socket);
    // Otherwise what was written meanwhile would count twice.
    if (socket.destroyed || written !== before[index]?.written) return [];
    const queued = queues.get(inode ?? '') ?? 0;
    if (waiting + queued === 0) {
      Object.assign(connection, { ...nothingWaits(), delivered: written });
      return [];
    }
    const sample = { at, taken: written - queued, offered: written + waiting };
    if (sample.taken !== connection.progress?.taken) connection.progress = sample;
    if (idleMsOf(connection, at) >= idleMsMax) connection.idleFrom ??= connection.progress;
    return [{ connection, sample }];
  });
}

function idleMsOf({ progress }: Connection, now: number): number {
  return progress === null ? 0 : now - progress.at;
}

function endSlow(waiting: Waiting[], windowMs: number): void {
  for (const { connection, sample } of waiting) {
    const { samples, socket } = connection;
    samples.push(sample);
    while (samples[1] && samples[1].at <= sample.at - windowMs) samples.shift();
    const [oldest = sample] = samples;
    // Small responses may be on their way at every check, each of them taken at once.
    if (sample.at - oldest.at < windowMs || sample.taken >= oldest.offered) continue;
    if (rateSince(oldest, sample) < bytesPerSecondMin) socket.resetAndDestroy();
  }
}

/** While too much waits, ends the connections of idle clients: first those that take least, then the longest idle. */
function endIdle(waiting: Waiting[], total: number): void {
  let left = total;
  if (left <= waitingBytesMax) return;
  const idle = waiting
    .map(({ connection, sample }) => ({
      connection,
      idleMs: idleMsOf(connection, sample.at),
      rate: connection.idleFrom ? rateSince(connection.idleFrom, sample) : 0,
    }))
    .filter(({ idleMs, rate }) => idleMs >= idleMsMax && rate < bytesPerSecondMin)
    .toSorted((a, b) => a.rate - b.rate || b.idleMs - a.idleMs);
  for (const { connection } of idle) {
    if (left <= waitingBytesMax) return;
    left -= connection.socket.writableLength;
    connection.socket.resetAndDestroy();
  }
}

function rateSince(since: Taken, { at, taken }: Taken): number {
  return ((taken - since.taken) * 1_000) / (at - since.at);
}

/**
 * Bytes per inode that the kernel holds for clients: megabytes on a fast network, so a slow client may take some of them for
 * minutes before the kernel takes more from Node. Empty where there is no /proc: then only what Node still has counts.
 */
async function readSendQueues(connections: Connection[]): Promise<Map<string, number>> {
  const texts = await Promise.all([
    ...['/proc/net/tcp', '/proc/net/tcp6'].map((path) => readFile(path, 'latin1').catch(() => '')),
    ...connections.map(findInode),
  ]);
  const lines = texts.slice(0, 2).flatMap((text) => text?.split('\n').slice(1) ?? []);
  return new Map(lines.map(parseQueue));
}

async function findInode(connection: Connection): Promise<undefined> {
  const fd = handleOf(connection.socket)?.fd ?? -1;
  if (connection.inode !== null || fd < 0) return;
  const link = await readlink(`/proc/self/fd/${fd}`).catch(() => '');
  connection.inode = /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? '';
}

/** https://docs.kernel.org/networking/proc_net_tcp.html */
function parseQueue(line: string): [inode: string, bytes: number] {
  const fields = line.trim().split(/\s+/, 10);
  return [fields[9] ?? '', Number.parseInt(fields[4] ?? '0', 16)];
}

/**
 * `socket.writableLength` shows whole writes only: a page of some megabytes would look untouched until its end. This is
 * what Node's own time-outs use (`lib/net.js`, `_onTimeout`); it has no public name.
 */
function outputOf(socket: Socket): Output {
  const handle = handleOf(socket);
  if (!handle) return { waiting: 0, written: 0 };
  // `bytesWritten` includes what waits in libuv.
  const { writeQueueSize: waiting, bytesWritten } = handle;
  return { waiting, written: bytesWritten - waiting };
}

type Handle = { writeQueueSize: number; bytesWritten: number; fd: number };

function handleOf(socket: Socket): Handle | null {
  // oxlint-disable-next-line no-underscore-dangle -- as above
  return (socket as unknown as { _handle: Handle | null })._handle;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route itself ends requests whose bodies do not arrive. */
    endsUnfinishedBodies?: boolean;
  }
}

/** docs/reference/errors-and-limits.md#internal-api-sql-and-imports */
export const bodyArrivesWithinMs = 60_000;

/** Node has one time-out for all requests of a listener, and a bulk write may take much longer than any other. */
export function endUnfinishedBodies(app: FastifyInstance, withinMs = bodyArrivesWithinMs): void {
  app.addHook('onRequest', (request, { raw: response }, done) => {
    const watch = () => endUnfinishedBody(request, response, withinMs);
    // It may respond before it has read the body.
    if (request.routeOptions.config.endsUnfinishedBodies) response.once('finish', watch);
    else watch();
    done();
  });
}

export function endUnfinishedBody(
  { raw: request, server: { server } }: FastifyRequest,
  response: ServerResponse,
  withinMs = bodyArrivesWithinMs,
): void {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
  if (request.complete || (length === '0' && encoding === undefined)) return;
  const timer = setTimeout(end, withinMs).unref();
  request.once('close', () => clearTimeout(timer));

  function end(): void {
    const { socket, complete } = request;
    if (complete) return;
    if (response.headersSent) socket.destroy();
    // As Node does at its own time-out.
    else server.emit('clientError', { code: 'ERR_HTTP_REQUEST_TIMEOUT' }, socket);
  }
}
