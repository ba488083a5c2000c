/**
 * Installs a release as an operator does, with the machine's own Node.js and npm: in an empty folder, starts it, reads
 * pages, and delivers a webhook. With a clone of an earlier commit, it upgrades a data folder of that commit.
 *   node .ci/check-release.ts FOLDER TARBALL [EARLIER_CLONE]
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { buffer } from 'node:stream/consumers';

const [folder, tarball, earlierClone] = process.argv.slice(2);
if (!folder || !tarball) throw new Error('give a folder and a tarball');
const app = join(folder, 'app');
const dataDir = join(folder, 'data');
const timeoutMs = 60_000;

/** npm puts the Node.js of a clone first. */
const machinePath = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((each) => !each.includes('node_modules'))
  .join(delimiter);

type Program = { name: string; cwd: string; command: string[]; path: string };
const installed: Program = {
  name: 'the release',
  cwd: app,
  command: ['npx', 'orgdir'],
  path: machinePath,
};

type Delivery = { event: string; genuine: boolean };
type Webhook = { key: string; secret: string };

install();
checkVersion();
const receiver = await startReceiver();
const webhook = earlierClone ? await serveEarlier(earlierClone) : null;
await serveRelease(webhook);
receiver.server.close();
console.log(
  earlierClone
    ? 'the release is installed, and serves and delivers from a data folder of the commit before'
    : 'the release is installed, serves and delivers',
);

function install(): void {
  mkdirSync(app);
  const began = performance.now();
  npm('install', tarball ?? '');
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  const size = execFileSync('du', ['-sm', app], { encoding: 'utf8' }).split('\t')[0];
  console.log(`npm install ${tarball}: ${size} MB in ${seconds} s`);
  const version = execFileSync('node', ['--version'], {
    env: environment(machinePath),
    encoding: 'utf8',
  });
  if (Number(/^v(\d+)/.exec(version)?.[1]) >= 24) return;
  const refused = spawnSync('npx', ['orgdir', 'serve'], {
    cwd: app,
    env: environment(machinePath),
    encoding: 'utf8',
  });
  assert.equal(refused.status, 1, refused.stdout);
  const advice = /needs Node\.js 24 .* "npm install (node-\S+)"/.exec(refused.stderr)?.[1];
  assert.ok(advice, refused.stderr);
  npm('install', advice);
  console.log(
    `this machine has Node.js ${version.trim()}: npm install ${advice}, as the message says`,
  );
}

function npm(...words: string[]): void {
  const { status, output } = spawnSync('npm', [...words, '--no-audit', '--no-fund'], {
    cwd: app,
    env: environment(machinePath),
    encoding: 'utf8',
  });
  assert.equal(status, 0, output?.join('\n'));
}

function checkVersion(): void {
  const manifest = JSON.parse(readFileSync(join(app, 'node_modules/orgdir/package.json'), 'utf8'));
  const { version, gitHead } = manifest;
  assert.match(gitHead, /^[0-9a-f]{40}/);
  assert.equal(orgdir(installed, '--version'), `${version} (${gitHead})\n`);
}

async function serveEarlier(clone: string): Promise<Webhook> {
  const bin = join(clone, 'node_modules/.bin');
  const path = `${bin}${delimiter}${machinePath}`;
  const earlier = {
    name: 'the earlier commit',
    cwd: clone,
    command: ['service/bin/orgdir.js'],
    path,
  };
  const service = await start(earlier);
  const made = await createWebhook(service);
  await deliver(earlier, made);
  await stop(service);
  return made;
}

async function serveRelease(existing: Webhook | null): Promise<void> {
  const service = await start(installed);
  if (existing) assert.equal(service.key, existing.key, 'the demo key of the data folder');
  const { data } = await readJson(`${service.url}/api/v1/orgs?limit=1`, service.key);
  assert.equal(data.length, 1);
  for (const path of ['/docs', '/docs/quick-start', '/llms.txt', '/client'])
    await read(`${service.url}${path}`);
  await readPortal(service.url);
  await deliver(installed, existing ?? (await createWebhook(service)));
  await stop(service);
}

type Service = {
  child: ChildProcess;
  url: string;
  key: string;
  name: string;
  output: () => string;
};

async function start(program: Program): Promise<Service> {
  const [command = '', ...words] = program.command;
  const child = spawn(command, [...words, 'serve'], {
    cwd: program.cwd,
    env: environment(program.path),
    stdio: ['ignore', 'pipe', 'pipe'],
    // A signal reaches npx and what it runs, as Ctrl-C does.
    detached: true,
  });
  let output = '';
  const ready = Promise.withResolvers<void>();
  const timer = setTimeout(
    () => ready.reject(new Error('it is not ready after a minute')),
    timeoutMs,
  );
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (/^Try it:/m.test(output)) ready.resolve();
    });
  child.once('close', () => ready.reject(new Error('it has ended')));
  try {
    await ready.promise;
  } catch (error) {
    if (child.exitCode === null) process.kill(-(child.pid ?? 0), 'SIGKILL');
    throw new Error(`${program.name} does not start:\n${output}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
  const url = /^Serving at (\S+)/m.exec(output)?.[1] ?? '';
  const key = /^Demo key: +(\S+)/m.exec(output)?.[1] ?? '';
  return { child, url, key, name: program.name, output: () => output };
}

async function stop({ child, name, output }: Service): Promise<void> {
  const closed = once(child, 'close');
  process.kill(-(child.pid ?? 0), 'SIGTERM');
  await closed;
  assert.match(output(), /service\.stopped/, `${name} did not stop cleanly:\n${output()}`);
}

async function createWebhook({ url, key }: Service): Promise<Webhook> {
  const body = JSON.stringify({ url: receiver.url, events: ['org.created'] });
  const { data } = await readJson(`${url}/api/v1/webhooks`, key, { method: 'POST', body });
  return { key, secret: data.secret };
}

/** Publishes with the command line, which shares the service's database. */
async function deliver(program: Program, { secret }: Webhook): Promise<void> {
  const delivered = receiver.next(secret);
  orgdir(program, 'events', 'publish', 'org.created', '--org', 'nokia');
  assert.deepEqual(await delivered, { event: 'org.created', genuine: true }, program.name);
}

function orgdir(program: Program, ...words: string[]): string {
  const [command = '', ...before] = program.command;
  const options = { cwd: program.cwd, env: environment(program.path), encoding: 'utf8' } as const;
  return execFileSync(command, [...before, ...words], options);
}

async function startReceiver() {
  let waiting: { secret: string; resolve: (delivery: Delivery) => void } | null = null;
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      response.writeHead(204).end();
      if (!waiting) return;
      const signature = createHmac('sha256', waiting.secret).update(body).digest('hex');
      waiting.resolve({
        event: String(request.headers['x-service-event']),
        genuine: request.headers['x-service-signature'] === `sha256=${signature}`,
      });
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  async function next(secret: string): Promise<Delivery> {
    const { promise, resolve, reject } = Promise.withResolvers<Delivery>();
    const timer = setTimeout(() => reject(new Error('no delivery within a minute')), timeoutMs);
    waiting = { secret, resolve };
    return promise.finally(() => clearTimeout(timer));
  }
  return { server, url: `http://127.0.0.1:${port}/`, next };
}

/** The page and every script and style that it names. */
async function readPortal(url: string): Promise<void> {
  const page = await read(`${url}/profile/developer`);
  const assets = [...page.matchAll(/"([^"]+\/assets\/[^"]+)"/g)].map(([, path]) => path ?? '');
  assert.ok(
    assets.some((path) => path.endsWith('.js')) && assets.some((path) => path.endsWith('.css')),
    page,
  );
  for (const path of assets) await read(`${url}${path}`);
}

async function read(url: string): Promise<string> {
  const response = await fetch(url);
  assert.equal(response.status, 200, url);
  return response.text();
}

async function readJson(url: string, key: string, init: RequestInit = {}) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const response = await fetch(url, { ...init, headers });
  assert.ok(response.ok, `${url}: ${response.status}`);
  return (await response.json()) as { data: any };
}

function environment(path: string): NodeJS.ProcessEnv {
  const { DATABASE_URL: _, ...rest } = process.env;
  return {
    ...rest,
    PATH: path,
    DATA_DIR: dataDir,
    PORT: '0',
    INTERNAL_PORT: '0',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    WEBHOOK_ALLOW_HTTP: 'true',
  };
}
