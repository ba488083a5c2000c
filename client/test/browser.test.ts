/** The package as it is published, in a real browser, from another origin than the service's. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { after, test } from 'node:test';
import { put } from '../../service/test/support/directory.ts';
import { loopbackAllowed, startReceiver } from '../../service/test/support/receiver.ts';
import { startTestService } from '../../service/test/support/service.ts';
import { launchBrowser, noBrowser } from '../../test/support/browser.ts';
import { makeConsumer } from './support/consumer.ts';

const options = { skip: noBrowser };

test('the client works in a browser', options, async () => {
  const service = await startTestService({ env: loopbackAllowed });
  const receiver = await startReceiver();
  await put(service.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);
  await service.settled();
  const page = await (await launchBrowser()).newPage();
  await page.goto(await servePackage());

  const seen = await page.evaluate(inBrowser, {
    baseUrl: service.url,
    apiKey: service.key,
    receiverUrl: receiver.url,
  });
  assert.deepEqual(seen.names, ['Acme']);
  assert.deepEqual([seen.error.code, seen.error.status], ['not_found', 404]);
  assert.ok(seen.error.requestId, 'the service shows its headers to other origins');
  assert.equal(seen.tested, 'succeeded');

  const { headers, body } = (await receiver.waitFor(1))[0]!;
  const delivery = { headers, body: body.toString(), secret: seen.secret };
  assert.equal(await page.evaluate(verifyInBrowser, delivery), 'webhook.test');
  const changed = { ...delivery, body: `${delivery.body} ` };
  assert.equal(await page.evaluate(verifyInBrowser, changed), 'no_match');
});

async function inBrowser(given: { baseUrl: string; apiKey: string; receiverUrl: string }) {
  const path: string = '/index.js';
  const { createClient } = (await import(path)) as typeof import('@orgdir/client');
  const client = createClient(given);
  const names = [];
  for await (const org of client.orgs.all()) names.push(org.name);
  const error = await client.orgs.get('nobody').catch((thrown) => ({ ...thrown }));
  const { id, secret } = await client.webhooks.create({ url: given.receiverUrl });
  const { status } = await client.webhooks.test(id);
  return { names, error, secret, tested: status };
}

async function verifyInBrowser(given: {
  headers: Record<string, string>;
  body: string;
  secret: string;
}): Promise<string> {
  const path: string = '/index.js';
  const { verifyWebhook } = (await import(path)) as typeof import('@orgdir/client');
  return verifyWebhook(given).then(
    ({ event }) => event,
    (error) => error.reason,
  );
}

/** An empty page and the files of the package. */
async function servePackage(): Promise<string> {
  const { packageFolder } = await makeConsumer();
  const server = createServer((request, response) => {
    const name = basename(request.url ?? '');
    const isScript = name.endsWith('.js');
    response.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html' });
    if (isScript) createReadStream(join(packageFolder, name)).pipe(response);
    else response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}
