/**
 * Measures the sender's CPU time per POST: over plain HTTP, on open TLS connections, and on new ones with and without a
 * session to resume, next to a bare `tls.connect` that resumes too. Rounds alternate, so that all see the same machine.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, createSecureContext } from 'node:tls';
import { loadConfig } from '../service/src/settings/config.ts';
import { createSender } from '../service/src/webhooks/sending/attempt.ts';
import { quantile, type Figure } from '../harness/figures.ts';
import { startProcess } from './start-process.ts';
import type { TlsPorts } from './tls-receiver.ts';

const ca = readFileSync(join(import.meta.dirname, '../service/test/support/tls/authority.pem'));
const body = Buffer.from(JSON.stringify({ data: 'x'.repeat(500) }));
const rounds = 7;
const openPosts = 4_000;
const newPosts = 400;
const concurrent = 8;

type Kind = keyof TlsPorts | 'bare';
/** Resolves with whether a session was resumed. */
type Post = () => Promise<boolean>;

export async function measureTls(): Promise<Figure[]> {
  const receiver = await startProcess(join(import.meta.dirname, 'tls-receiver.ts'), {
    listens: false,
  });
  const [ports] = (await receiver.said) as [TlsPorts];
  const sender = createSender(loadConfig({ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' }).webhooks, {
    ca: ca.toString(),
  });
  const send = (kind: keyof TlsPorts) => async () => {
    const scheme = kind === 'plain' ? 'http' : 'https';
    const url = `${scheme}://127.0.0.1:${ports[kind]}/`;
    const { statusCode, error, responseBody } = await sender.attempt({ url, headers: {}, body });
    if (statusCode !== 200) throw new Error(`${kind}: ${statusCode ?? error}`);
    return String(responseBody) === '1';
  };
  try {
    return await compare({
      plain: send('plain'),
      open: send('open'),
      cold: send('cold'),
      resumed: send('resumed'),
      bare: createBarePost(ports.resumed),
    });
  } finally {
    await sender.close();
    await receiver.stop();
  }
}

async function compare(posts: Record<Kind, Post>): Promise<Figure[]> {
  const kinds = Object.keys(posts) as Kind[];
  for (const kind of kinds) await cpuMicros(kind, posts[kind]);
  const measured: Record<Kind, number>[] = [];
  for (let count = 0; count < rounds; count += 1) {
    const round = { plain: 0, open: 0, cold: 0, resumed: 0, bare: 0 };
    for (const kind of kinds) round[kind] = await cpuMicros(kind, posts[kind]);
    measured.push(round);
  }
  const median = (pick: (round: Record<Kind, number>) => number) =>
    quantile(measured.map(pick), 0.5);
  const micros = (kind: Kind) => `${kind} ${Math.round(median((round) => round[kind]))} µs`;
  return [
    {
      name: 'POSTs per CPU second on open TLS connections, share of plain HTTP',
      reached: median(({ plain, open }) => plain / open),
      unit: '',
      asked: { atLeast: 0.6 },
      note: [micros('plain'), micros('open')].join(', '),
    },
    {
      name: 'POSTs per CPU second on resumed connections, share of a bare tls.connect',
      reached: median(({ resumed, bare }) => bare / resumed),
      unit: '',
      asked: { atLeast: 0.5 },
      note: [micros('cold'), micros('resumed'), micros('bare')].join(', '),
    },
  ];
}

/** The CPU time of this process per POST. */
async function cpuMicros(kind: Kind, post: Post): Promise<number> {
  const isOpen = kind === 'plain' || kind === 'open';
  const count = isOpen ? openPosts : newPosts;
  // So that there is a session.
  await post();
  const before = process.cpuUsage();
  let left = count;
  let resumed = 0;
  const postInTurn = async () => {
    while (left-- > 0) if (await post()) resumed += 1;
  };
  await Promise.all(Array.from({ length: concurrent }, postInTurn));
  const { user, system } = process.cpuUsage(before);
  const expected = kind === 'resumed' || kind === 'bare' ? count : 0;
  if (!isOpen && resumed !== expected) throw new Error(`${kind}: ${resumed} of ${count} resumed`);
  return (user + system) / count;
}

/** A POST on a new connection that resumes the last session, by `tls.connect` alone. */
function createBarePost(port: number): Post {
  const secureContext = createSecureContext({ ca });
  const head = `POST / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Length: ${body.length}\r\n\r\n`;
  const request = Buffer.concat([Buffer.from(head), body]);
  let session: Buffer | undefined;
  return () =>
    new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, secureContext, session });
      let response = '';
      socket.on('session', (latest) => (session = latest));
      socket.on('data', (chunk) => (response += chunk));
      socket.on('error', reject);
      socket.on('close', () => {
        if (response.startsWith('HTTP/1.1 200')) resolve(response.endsWith('1'));
        else reject(new Error(`bare: ${response}`));
      });
      socket.write(request);
    });
}
