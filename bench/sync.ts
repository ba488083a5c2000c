/**
 * npm run bench:sync: measures `orgdir sync blueprints` with 100,000 blueprints over HTTP, for the first time and without
 * changes. Creates its data and database in a temporary folder and deletes it. Exits with 1 if a target is missed.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { makeDirectory } from './directory-data.ts';
import type { Figure } from '../harness/figures.ts';
import { makeWorkFolder, openWorkDatabase, runIn } from './work-folder.ts';

const blueprints = 100_000;
const command = join(import.meta.dirname, '../service/bin/orgdir.js');
const memoryLookMs = 50;

type Run = { seconds: number; memoryMiB: number; counts: Record<string, number> };

const folder = await makeWorkFolder();
const env = { DATA_DIR: join(folder, 'data') };
await runIn(folder, measure);

async function measure(): Promise<Figure[]> {
  const { blueprints: file } = await makeDirectory(folder, { orgs: 1, firstOrgs: 1, blueprints });
  const lines = await readFile(file);
  const array = gzipSync(`[${String(lines).trimEnd().replaceAll('\n', ',')}]`);
  const server = await serve((request, response) => {
    if (request.url === '/array') return response.end(array);
    if (request.headers['if-none-match'] === '"1"') return response.writeHead(304).end();
    return response.writeHead(200, request.url === '/tagged' ? { etag: '"1"' } : {}).end(lines);
  });
  const opened = await openWorkDatabase(env.DATA_DIR);
  try {
    const first = await sync(`${server.url}/lines`, 'created');
    const second = await sync(`${server.url}/lines`, 'unchanged');
    const zipped = await sync(`${server.url}/array`, 'unchanged');
    await sync(`${server.url}/tagged`, 'unchanged');
    const tagged = await sync(`${server.url}/tagged`, 'unchanged');
    return [
      seconds('first sync of 100,000 blueprints', first, 30),
      seconds('a second one, all unchanged', second, 10),
      seconds('the same as a gzipped JSON array', zipped, 10),
      seconds('the same where the ETag is as it was', tagged, 10),
      {
        name: 'memory of the command at its peak',
        reached: Math.max(first.memoryMiB, second.memoryMiB, zipped.memoryMiB),
        unit: 'MiB',
        asked: { atMost: 512 },
        note: `for ${Math.round(lines.length / 1024 / 1024)} MiB of source`,
      },
    ];
  } finally {
    await opened.close();
    server.close();
  }
}

function seconds(name: string, run: Run, atMost: number): Figure {
  return { name, reached: run.seconds, unit: 's', asked: { atMost } };
}

async function serve(answer: RequestListener) {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

/** Checks that every blueprint was counted as `expected`. */
async function sync(url: string, expected: string): Promise<Run> {
  const startedAt = performance.now();
  const child = spawn(command, ['sync', 'blueprints', url, '--json'], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let memoryMiB = 0;
  const timer = setInterval(() => {
    void peakMemoryMiB(child.pid).then((peak) => (memoryMiB = Math.max(memoryMiB, peak)));
  }, memoryLookMs);
  let stdout = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += String(chunk)));
  await once(child, 'close');
  clearInterval(timer);
  const taken = (performance.now() - startedAt) / 1000;
  const { counts } = JSON.parse(stdout) as Run;
  if (counts?.[expected] !== blueprints)
    throw new Error(`not all were ${expected}: ${stdout.slice(0, 500)}`);
  return { seconds: taken, memoryMiB, counts };
}

/** 0 if unknown. */
async function peakMemoryMiB(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024;
}
