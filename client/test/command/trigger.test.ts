/** `orgdir-client trigger`: a sample of an event, without a service. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verifyWebhook } from '@orgdir/client';
import { openApi } from '../../../service/test/support/openapi-check.ts';
import { startReceiver } from '../../../service/test/support/receiver.ts';
import { startClient } from '../support/client-command.ts';

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const env = { WEBHOOK_SECRET: secret };

test('without an event it lists all of the catalogue', async () => {
  const command = startClient(['trigger'], { env });
  assert.equal((await command.ended).code, 0);
  assert.deepEqual(command.stdout.trim().split('\n'), Object.keys(openApi.webhooks));
});

test('it sends a signed sample, each time with another id', async () => {
  const handler = await startReceiver((response) => response.writeHead(204).end());
  for (const name of ['blueprint.sync.completed', 'blueprint.sync.completed', 'webhook.test']) {
    const command = startClient(['trigger', name, '--forward-to', handler.url], { env });
    assert.equal((await command.ended).code, 0, command.stderr);
    assert.match(command.stdout, /204 in \d+ ms\n$/);
  }
  const events = await Promise.all(
    handler.received.map(({ body, headers }) => verifyWebhook({ body, headers, secret })),
  );
  assert.equal(new Set(events.map(({ id }) => id)).size, 3);
  for (const { event, data } of events) {
    const { example } = (openApi.webhooks as any)[event].post.requestBody.content[
      'application/json'
    ];
    assert.deepEqual(data, example.data);
  }
});

test('it exits with 1 unless the handler accepts', async () => {
  const handler = await startReceiver((response) => response.writeHead(500).end('broken\u009b'));
  const command = startClient(['trigger', 'org.created', '--forward-to', handler.url], { env });
  assert.equal((await command.ended).code, 1);
  assert.match(command.stdout, /500 in \d+ ms\n {2}broken\\u009b\n$/);
  assert.match(command.stderr, /did not accept the event: 500/);
  const absent = startClient(['trigger', 'org.created', '--forward-to', 'http://127.0.0.1:1/'], {
    env,
  });
  assert.equal((await absent.ended).code, 1);
  assert.match(absent.stdout, /no response in \d+ ms\n {2}.*ECONNREFUSED/);
});
