/**
 * Sends the same request repeatedly over several connections, counts the responses and checks their status. It parses
 * HTTP only as far as needed to find the end of a response: a slower client would be the bottleneck.
 */
import { connect } from 'node:net';

export type LoadOrder = { port: number; request: string; status: number; durationMs: number };
export type LoadResult = { answers: number; elapsedMs: number; fault: string | null };

const connections = 32;
const readBytes = 64 * 1024;
const headEnd = Buffer.from('\r\n\r\n');

process.on('message', (order: LoadOrder) => {
  void run(order).then((result) => process.send?.(result));
});
process.on('disconnect', () => process.exit());

async function run(order: LoadOrder): Promise<LoadResult> {
  const startedAt = performance.now();
  const round = { answers: 0, fault: null as string | null, endsAt: startedAt + order.durationMs };
  const awake = stayAwake();
  await Promise.all(Array.from({ length: connections }, () => ask(order, round)));
  awake.stop();
  return { answers: round.answers, elapsedMs: performance.now() - startedAt, fault: round.fault };
}

/**
 * Keeps the event loop busy. Waking a sleeping client costs the server an interrupt, and a slower server would pay for it
 * more often.
 */
function stayAwake(): { stop(): void } {
  let turn = setImmediate(again);
  function again(): void {
    turn = setImmediate(again);
  }
  return { stop: () => clearImmediate(turn) };
}

type Round = { answers: number; fault: string | null; endsAt: number };

function ask({ port, request, status }: LoadOrder, round: Round): Promise<void> {
  const expected = `HTTP/1.1 ${status} `;
  let awaitedBytes = 0;
  return new Promise((resolve) => {
    const socket = connect({
      port,
      host: '127.0.0.1',
      noDelay: true,
      // One buffer for all reads, so that the client collects no garbage.
      onread: { buffer: Buffer.alloc(readBytes), callback: read },
    });
    socket.on('connect', () => socket.write(request));
    socket.on('error', (error) => (round.fault ??= error.message));
    socket.on('close', () => resolve());

    function read(count: number, buffer: Uint8Array): boolean {
      const chunk = (buffer as Buffer).subarray(0, count);
      awaitedBytes = awaitedBytes > 0 ? awaitedBytes - count : bodyBytesAfter(chunk);
      if (awaitedBytes === 0) next();
      return true;
    }

    /** The bytes of the response that are still to come. */
    function bodyBytesAfter(chunk: Buffer): number {
      const end = chunk.indexOf(headEnd);
      const head = chunk.toString('latin1', 0, Math.max(end, 0));
      if (end < 0 || !head.startsWith(expected)) {
        round.fault ??= `expected ${expected}, but got ${head.slice(0, 60)}`;
        socket.destroy();
        return -1;
      }
      const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? '0';
      return end + headEnd.length + Number(length) - chunk.length;
    }

    function next(): void {
      round.answers += 1;
      if (performance.now() < round.endsAt) socket.write(request);
      else socket.end();
    }
  });
}
