/** A process that listens on an address and never accepts: once its backlog is full, connecting there hangs. */
import { createServer } from 'node:net';

process.once('message', ({ host, port }: { host: string; port: number }) => {
  createServer().listen({ host, port, backlog: 1 }, () =>
    process.send?.('listening', () => {
      // Blocks the only thread that could accept.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    }),
  );
});
