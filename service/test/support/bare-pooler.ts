/**
 * What the check of a pooler's settings needs of one: other process ids than the server's, and a `connect_query`. It shares
 * no connections; scale/pooler.ts has PgBouncer.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';

/** A message has its type, and its length in four bytes, which they are part of. */
const lengthAt = 1;
const contentAt = 5;

type Target = { host: string; port: number };

/** A host that begins with `/` is the folder of PostgreSQL's socket. */
export async function startBarePooler({ host, port }: Target, connectQuery: string) {
  const server = createServer((near) => {
    const far = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    near.on('error', () => {}).on('close', () => far.destroy());
    far.on('error', () => {}).on('close', () => near.destroy());
    near.pipe(far);
    let stage: 'signing in' | 'setting' | 'ready' = 'signing in';
    let rest = Buffer.alloc(0);
    far.on('data', (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= contentAt) {
        const end = lengthAt + rest.readInt32BE(lengthAt);
        if (rest.length < end) return;
        const message = rest.subarray(0, end);
        rest = rest.subarray(end);
        const type = String.fromCharCode(message[0] ?? 0);
        const isReady = type === 'Z';
        if (type === 'K') message.writeInt32BE(message.readInt32BE(contentAt) + 1, contentAt);
        if (stage === 'signing in' && isReady) {
          stage = 'setting';
          far.write(query(connectQuery));
        } else if (stage !== 'setting' || isReady) {
          if (isReady) stage = 'ready';
          near.write(message);
        }
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}

function query(text: string): Buffer {
  const content = Buffer.from(`${text}\0`);
  const head = Buffer.alloc(contentAt);
  head.write('Q');
  head.writeInt32BE(head.length - lengthAt + content.length, lengthAt);
  return Buffer.concat([head, content]);
}
