/** The client as a running service serves it: npm, a browser and Deno use it by its address. */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import fastify from 'fastify';
import { registerClient } from '../../../src/http/site/client.ts';
import { put } from '../../support/directory.ts';
import { startTestService, testPublicUrl } from '../../support/service.ts';
import { version } from '../../../src/runtime/version.ts';
import { launchBrowser, noBrowser } from '../../../../test/support/browser.ts';
import { startProgram } from '../../../../client/test/support/program.ts';

const run = promisify(execFile);
const service = await startTestService();
await put(service.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
await service.settled();
const tarball = `/client/orgdir-client-${version}.tgz`;
const module = `/client/orgdir-client-${version}.js`;
const types = `/client/orgdir-client-${version}.d.ts`;

const program = (from: string) => `
import { createClient, verifyWebhook } from '${from}';
const client = createClient({ baseUrl: '${service.url}', apiKey: '${service.key}' });
for await (const org of client.orgs.all()) console.log(org.name, typeof verifyWebhook);
`;

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'orgdir-served-'));
  after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

test('the files are cached for good and open to every origin, without a key', async () => {
  const contentTypes = {
    [tarball]: 'application/gzip',
    [module]: 'text/javascript; charset=utf-8',
    [types]: 'application/typescript; charset=utf-8',
  };
  for (const [path, type] of Object.entries(contentTypes)) {
    const { status, headers } = await fetch(`${service.url}${path}`, { method: 'HEAD' });
    assert.equal(status, 200, path);
    assert.equal(headers.get('content-type'), type);
    assert.equal(headers.get('cache-control'), 'public, max-age=31536000, immutable');
    assert.equal(headers.get('access-control-allow-origin'), '*');
    assert.equal(headers.get('cross-origin-resource-policy'), 'cross-origin');
    const { length } = Buffer.from(await (await fetch(`${service.url}${path}`)).arrayBuffer());
    assert.equal(Number(headers.get('content-length')), length);
    const refused = await fetch(`${service.url}${path}`, { method: 'POST' });
    assert.deepEqual([refused.status, refused.headers.get('allow')], [405, 'GET, HEAD, OPTIONS']);
  }
  const other = await fetch(`${service.url}/client/orgdir-client-0.0.0.tgz`);
  assert.equal(other.status, 404);
});

test('two builds are the same bytes', async () => {
  const folder = await temporaryFolder();
  const packageFolder = join(folder, 'package');
  const downloads = join(folder, 'download');
  // In processes of their own: the umask belongs to the process.
  const script = `
    process.umask(0o077);
    const { buildPackage } = await import('./build/build-package.ts');
    const { writeDownloads } = await import('./build/write-downloads.ts');
    await buildPackage('${packageFolder}');
    await writeDownloads('${packageFolder}', '${downloads}');
  `;
  await run(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: new URL('../../../../client/', import.meta.url),
    env: { ...process.env, TZ: 'Asia/Tokyo' },
  });
  for (const path of [tarball, module, types]) {
    const served = Buffer.from(await (await fetch(`${service.url}${path}`)).arrayBuffer());
    const again = await readFile(join(downloads, path.slice('/client/'.length)));
    assert.ok(served.equals(again), path);
  }
});

test('npm installs it from its address, after the command that the page shows', async () => {
  const folder = await temporaryFolder();
  const text = await (await fetch(`${service.url}/client`)).text();
  const [, init = 'false'] = /^ +(npm init .*)$/m.exec(text) ?? [];
  await run('sh', ['-c', init], { cwd: folder });
  const options = ['--no-audit', '--no-fund', '--offline=false', `--cache=${folder}/cache`];
  await run('npm', ['install', ...options, `${service.url}${tarball}`], { cwd: folder });
  const { packages } = JSON.parse(await readFile(join(folder, 'package-lock.json'), 'utf8'));
  assert.match(packages['node_modules/@orgdir/client'].integrity, /^sha512-/);
  await writeFile(join(folder, 'program.js'), program('@orgdir/client'));
  const running = startProgram(join(folder, 'program.js'), { cwd: folder });
  assert.equal(await running.ended, 0, running.output());
  assert.equal(running.output(), 'Acme function\n');
});

test('a browser imports it from another origin, and refuses any other bytes', async (t) => {
  if (noBrowser) return t.skip(noBrowser);
  const text = await (await fetch(`${service.url}/client`)).text();
  const [importMap = ''] = /<script type="importmap">.*?<\/script>/s.exec(text) ?? [];
  const shown = importMap.replaceAll(testPublicUrl, service.url);
  assert.ok(shown.includes(`${service.url}${module}`), text);
  const pages: Record<string, string> = {
    '/': shown,
    '/changed': shown.replace(/sha384-.{4}/, 'sha384-AAAA'),
  };
  const server = createServer((request, response) => {
    const head = pages[request.url ?? ''];
    response.writeHead(head ? 200 : 404, { 'content-type': 'text/html' });
    response.end(head && `<!doctype html><title>Page</title>${head}`);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const page = await (await launchBrowser()).newPage();
  const names = async (path: string) => {
    await page.goto(`http://127.0.0.1:${port}${path}`);
    return page.evaluate(inBrowser, { baseUrl: service.url, apiKey: service.key });
  };
  assert.deepEqual(await names('/'), ['Acme']);
  assert.match(String(await names('/changed')), /Failed to fetch/);
});

async function inBrowser(options: { baseUrl: string; apiKey: string }) {
  try {
    const name: string = '@orgdir/client';
    const { createClient } = (await import(name)) as typeof import('@orgdir/client');
    const names = [];
    for await (const org of createClient(options).orgs.all()) names.push(org.name);
    return names;
  } catch (error) {
    return String(error);
  }
}

/** With an error, so that it also says whether there are types. */
const typed = (from: string) => `
import { createClient } from '${from}';
const client = createClient({ baseUrl: '${service.url}', apiKey: '${service.key}' });
for await (const org of client.orgs.all()) console.log(org.name satisfies string);
console.log((await client.status()).nothing);
`;

test('the module names its types, which are complete', async () => {
  const text = await (await fetch(`${service.url}${module}`)).text();
  const [, named = ''] = /^\/\* @ts-self-types="(.*)" \*\/\n/.exec(text) ?? [];
  assert.equal(new URL(named, `${service.url}${module}`).pathname, types);
  const folder = await temporaryFolder();
  await writeFile(
    join(folder, 'client.d.ts'),
    await (await fetch(`${service.url}${types}`)).text(),
  );
  await writeFile(join(folder, 'program.ts'), typed('./client.js'));
  const tsc = fileURLToPath(new URL('../../../../node_modules/.bin/tsc', import.meta.url));
  const strict = '--noEmit --strict --target es2022 --module esnext --moduleResolution bundler';
  const lib = '--lib es2022,dom,dom.iterable,dom.asynciterable --types'.split(' ');
  const { stdout } = spawnSync(
    process.execPath,
    [tsc, ...strict.split(' '), ...lib, '', 'program.ts'],
    {
      cwd: folder,
      encoding: 'utf8',
    },
  );
  assert.deepEqual(stdout.match(/^\S+ error TS\d+: .*$/gm), [
    "program.ts(5,37): error TS2339: Property 'nothing' does not exist on type 'ServiceStatus'.",
  ]);
});

const hasDeno = spawnSync('deno', ['--version']).status === 0;
test('Deno imports it with its types', { skip: !hasDeno && 'deno is not installed' }, async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'program.mjs');
  await writeFile(file, program(`${service.url}${module}`));
  const env = { ...process.env, DENO_DIR: folder, NO_COLOR: '1' };
  const imports = '--allow-import=127.0.0.1';
  const { stdout } = await run(
    'deno',
    ['run', '--allow-net=127.0.0.1', imports, '--no-prompt', file],
    {
      env,
    },
  );
  assert.equal(stdout, 'Acme function\n');
  await writeFile(join(folder, 'program.ts'), typed(`${service.url}${module}`));
  await assert.rejects(
    run('deno', ['check', imports, join(folder, 'program.ts')], { env }),
    ({ stderr }: { stderr: string }) =>
      stderr.includes("Property 'nothing' does not exist on type 'ServiceStatus'") &&
      stderr.match(/TS\d+/g)?.length === 1,
  );
});

test('the page names the address, the integrity hash and the public URL', async () => {
  const answer = await fetch(`${service.url}/client`);
  assert.equal(answer.headers.get('content-type'), 'text/plain; charset=utf-8');
  const text = await answer.text();
  assert.ok(text.includes(`npm install ${testPublicUrl}${tarball}\n`), text);
  assert.ok(text.includes(`from "${testPublicUrl}${module}"`), text);
  assert.ok(text.includes(`${testPublicUrl}${types}:\n`), text);
});

test('browsers are led to the documentation, and others get text', async () => {
  const ask = (accept: string) =>
    fetch(`${service.url}/client`, { headers: { accept }, redirect: 'manual' });
  const led = await ask('text/html,application/xhtml+xml,*/*;q=0.8');
  assert.deepEqual([led.status, led.headers.get('location')], [302, '/docs/client']);
  assert.equal(led.headers.get('vary'), 'Accept');
  const page = await fetch(`${service.url}/docs/client`);
  assert.match(await page.text(), new RegExp(`orgdir-client-${version.replaceAll('.', '\\.')}`));
  const text = await ask('*/*');
  assert.equal(text.headers.get('content-type'), 'text/plain; charset=utf-8');
  assert.equal(text.headers.get('vary'), 'Accept, Accept-Encoding');
});

test('without a build, it responds with 503 and says how to build', async () => {
  const app = fastify();
  const empty = pathToFileURL(`${await temporaryFolder()}/`);
  registerClient(app, { publicUrl: testPublicUrl, version }, empty);
  for (const url of ['/client', tarball, module, types]) {
    const answer = await app.inject({ url });
    assert.equal(answer.statusCode, 503, url);
    assert.equal(answer.headers['cache-control'], 'no-store');
    assert.match(answer.body, /npm run build -w client/);
  }
});

test('a file is read once, so that responses which wait for their clients share its bytes', async () => {
  const app = fastify();
  const folder = await temporaryFolder();
  registerClient(app, { publicUrl: testPublicUrl, version }, pathToFileURL(`${folder}/`));
  const file = join(folder, basename(tarball));
  assert.equal((await app.inject({ url: tarball })).statusCode, 503);
  await writeFile(file, 'as built later');
  assert.equal((await app.inject({ url: tarball })).body, 'as built later');
  await rm(file);
  assert.equal((await app.inject({ url: tarball })).body, 'as built later');
});
