/** A name server on loopback, UDP and TCP, that answers as the test says and keeps what it was asked. */
import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, isIPv4, type AddressInfo, type Server, type Socket } from 'node:net';
import { after } from 'node:test';
import ipaddr from 'ipaddr.js';

export type DnsQuery = { name: string; type: 'A' | 'AAAA' };
export type DnsReply =
  /** The addresses of the requested family; an empty list is a response without records. */
  | string[]
  | { alias: string; addresses: string[] }
  | 'NXDOMAIN'
  | 'SERVFAIL'
  | 'REFUSED'
  | 'silence'
  /** Raw bytes after the query's id. */
  | Buffer;
export type DnsScript = (query: DnsQuery) => DnsReply;

export type DnsServer = {
  /** In the format of `setServers`. */
  address: string;
  queries: DnsQuery[];
  /** Resolves once there were so many queries for a name. */
  asked(name: string, count: number): Promise<void>;
};

const codes = { NXDOMAIN: 3, SERVFAIL: 2, REFUSED: 5 };
const types = new Map<number, DnsQuery['type']>([
  [1, 'A'],
  [28, 'AAAA'],
]);
const typeNumbers = { A: 1, AAAA: 28, CNAME: 5 };
/** The maximum size over UDP; larger responses are requested again over TCP. */
const udpBytesMax = 512;

export async function startDnsServer(script: DnsScript): Promise<DnsServer> {
  const queries: DnsQuery[] = [];
  let arrived = () => {};

  function answer(message: Buffer): Buffer | null {
    const { query, end } = readQuestion(message);
    queries.push(query);
    arrived();
    return writeAnswer(message, end, query, script(query));
  }

  const sockets = new Set<Socket>();
  const tcp = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (framed: Buffer) => {
      const bytes = answer(framed.subarray(2));
      if (bytes) socket.write(Buffer.concat([twoBytes(bytes.length), bytes]));
    });
  });
  const { udp, port } = await listenOnBoth(tcp);
  udp.on('message', (message: Buffer, from: RemoteInfo) => {
    const bytes = answer(message);
    if (bytes) udp.send(truncated(bytes), from.port, from.address);
  });
  after(() => {
    udp.close();
    tcp.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    address: `127.0.0.1:${port}`,
    queries,
    async asked(name, count) {
      while (queries.filter((query) => query.name === name).length < count)
        await new Promise<void>((resolve) => (arrived = resolve));
    },
  };
}

/** UDP and TCP share the number; one that is free for both is found by trying. */
async function listenOnBoth(tcp: Server): Promise<{ udp: UdpSocket; port: number }> {
  tcp.listen(0, '127.0.0.1');
  await once(tcp, 'listening');
  const { port } = tcp.address() as AddressInfo;
  const udp = createSocket('udp4');
  try {
    udp.bind(port, '127.0.0.1');
    await once(udp, 'listening');
    return { udp, port };
  } catch {
    udp.close();
    tcp.close();
    await once(tcp, 'close');
    return listenOnBoth(tcp);
  }
}

function readQuestion(message: Buffer): { query: DnsQuery; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = types.get(message.readUInt16BE(at + 1));
  if (type === undefined) throw new Error('the tests ask for addresses only');
  return { query: { name: labels.join('.').toLowerCase(), type }, end: at + 5 };
}

function writeAnswer(
  message: Buffer,
  questionEnd: number,
  { type }: DnsQuery,
  reply: DnsReply,
): Buffer | null {
  if (reply === 'silence') return null;
  const id = message.subarray(0, 2);
  if (Buffer.isBuffer(reply)) return Buffer.concat([id, reply]);
  const question = message.subarray(12, questionEnd);
  const code = typeof reply === 'string' ? codes[reply] : 0;
  const records = typeof reply === 'string' ? [] : writeRecords(reply, type);
  const counts = [1, records.length, 0, 0].map(twoBytes);
  // Response, recursion desired and available.
  return Buffer.concat([id, Buffer.from([0x81, 0x80 | code]), ...counts, question, ...records]);
}

function writeRecords(reply: Exclude<DnsReply, string | Buffer>, type: DnsQuery['type']): Buffer[] {
  const { alias, addresses } = Array.isArray(reply) ? { alias: null, addresses: reply } : reply;
  const asked = addresses.filter((address) => isIPv4(address) === (type === 'A'));
  // A pointer to the question's name.
  const owner = Buffer.from([0xc0, 12]);
  const name = alias === null ? owner : writeName(alias);
  const records = asked.map((address) =>
    writeRecord(name, typeNumbers[type], Buffer.from(ipaddr.parse(address).toByteArray())),
  );
  return alias === null ? records : [writeRecord(owner, typeNumbers.CNAME, name), ...records];
}

/** Internet class, and to be forgotten at once. */
function writeRecord(owner: Buffer, type: number, data: Buffer): Buffer {
  const ttl = Buffer.alloc(4);
  return Buffer.concat([owner, twoBytes(type), twoBytes(1), ttl, twoBytes(data.length), data]);
}

function writeName(name: string): Buffer {
  const labels = name
    .split('.')
    .flatMap((label) => [Buffer.from([label.length]), Buffer.from(label)]);
  return Buffer.concat([...labels, Buffer.from([0])]);
}

function twoBytes(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

/** The head alone, which says that there is more. */
function truncated(bytes: Buffer): Buffer {
  if (bytes.length <= udpBytesMax) return bytes;
  const { end } = readQuestion(bytes);
  const head = Buffer.from(bytes.subarray(0, end));
  head[2] = 0x83;
  head.fill(0, 6, 12);
  return head;
}
