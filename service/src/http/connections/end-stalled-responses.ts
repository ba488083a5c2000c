/**
 * Ends connections whose clients leave a response waiting, on any listener: what waits is memory of this process. A
 * connection with nothing to send is never ended here, however long its request takes.
 */
import { readFile, readlink } from 'node:fs/promises';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** docs/reference/errors-and-limits.md#public-api: over 30 s, a client takes 1 KiB/s of what waits for it. */
const bytesPerSecondMin = 1024;
const defaults = { windowMs: 30_000, checkEveryMs: 5_000 };
/** The bytes that may wait in a process while some clients take nothing. */
const waitingBytesMax = 32 * 1024 * 1024;
const balanceEveryMs = 250;
/** Only then do clients that take nothing for this long give way. */
const idleMsMax = 1_000;

type Output = {
  /** Bytes that wait in this process. */
  waiting: number;
  /** Bytes that the kernel has taken from this process. */
  written: number;
};
type Sample = {
  at: number;
  /** What the client had taken, and all that there was to take. */
  taken: number;
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
  /** When `written` last grew. */
  progress: { at: number; written: number };
};

export function endStalledResponses(
  app: FastifyInstance,
  { windowMs, checkEveryMs } = defaults,
): void {
  const connections = new Map<Socket, Connection>();
  const timers: NodeJS.Timeout[] = [];
  let isChecking = false;
  app.server.on('connection', (socket) => {
    if (timers.length === 0)
      timers.push(
        setInterval(() => balance(connections.values()), balanceEveryMs).unref(),
        setInterval(() => void check(), checkEveryMs).unref(),
      );
    const progress = { at: performance.now(), written: 0 };
    connections.set(socket, { socket, inode: null, samples: [], delivered: 0, progress });
    socket.once('close', () => connections.delete(socket));
  });
  app.addHook('onClose', async () => timers.forEach(clearInterval));

  async function check(): Promise<void> {
    if (isChecking) return;
    isChecking = true;
    try {
      await endSlow([...connections.values()].filter(mayWait), windowMs);
    } finally {
      isChecking = false;
    }
  }
}

/** While too much waits, ends the connections whose clients have taken nothing for longest. */
function balance(connections: Iterable<Connection>): void {
  const now = performance.now();
  let total = 0;
  const waiting: Connection[] = [];
  for (const connection of connections) {
    const { socket, progress } = connection;
    if (socket.writableLength === 0) continue;
    const { written } = outputOf(socket);
    if (written !== progress.written) connection.progress = { at: now, written };
    total += socket.writableLength;
    waiting.push(connection);
  }
  if (total <= waitingBytesMax) return;
  for (const { socket, progress } of waiting.toSorted((a, b) => a.progress.at - b.progress.at)) {
    if (total <= waitingBytesMax || now - progress.at < idleMsMax) return;
    total -= socket.writableLength;
    socket.resetAndDestroy();
  }
}

/** Whether something was written since the client was last seen to have everything. */
function mayWait({ socket, delivered }: Connection): boolean {
  const { waiting, written } = outputOf(socket);
  return waiting > 0 || written !== delivered;
}

async function endSlow(connections: Connection[], windowMs: number): Promise<void> {
  if (connections.length === 0) return;
  const before = connections.map(({ socket }) => outputOf(socket));
  const queues = await readSendQueues(connections);
  const at = performance.now();
  for (const [index, connection] of connections.entries()) {
    const { socket, inode } = connection;
    const { waiting, written } = outputOf(socket);
    // Otherwise what was written meanwhile would count twice.
    if (socket.destroyed || written !== before[index]?.written) continue;
    const queued = queues.get(inode ?? '') ?? 0;
    if (waiting + queued === 0) Object.assign(connection, { samples: [], delivered: written });
    else if (
      isSlow(connection, { at, taken: written - queued, offered: written + waiting }, windowMs)
    )
      socket.resetAndDestroy();
  }
}

function isSlow({ samples }: Connection, sample: Sample, windowMs: number): boolean {
  samples.push(sample);
  while (samples[1] && samples[1].at <= sample.at - windowMs) samples.shift();
  const [oldest = sample] = samples;
  const ms = sample.at - oldest.at;
  // Small responses may be on their way at every check, each of them taken at once.
  if (ms < windowMs || sample.taken >= oldest.offered) return false;
  return sample.taken - oldest.taken < (ms / 1_000) * bytesPerSecondMin;
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
