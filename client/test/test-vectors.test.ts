/** The test vectors in the reference are right for the service, the client, the Standard Webhooks library and openssl. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { verifyWebhook } from '@orgdir/client';
import { deliveryHeaders, signingKey } from '../../service/src/webhooks/sending/sign.ts';

const url = new URL('../../docs/reference/deliveries.md', import.meta.url);
const [, section = ''] = (await readFile(url, 'utf8')).split('### Test vectors\n');
const [, script = ''] = /```sh\n(.*?)```/s.exec(section) ?? [];
const [, result = ''] = /```text\n(.*?)```/s.exec(section) ?? [];
const valueOf = (name: string) =>
  new RegExp(`^${name}='(.*)'$`, 'm').exec(script)?.[1] ?? assert.fail(`no ${name} in the text`);
const [secret, id, timestamp, body] = ['secret', 'id', 'timestamp', 'body'].map(valueOf) as [
  string,
  string,
  string,
  string,
];
const signatureOf = (name: string) =>
  new RegExp(`^${name}: (.*)$`, 'm').exec(result)?.[1] ?? assert.fail(`no ${name} in the text`);
const headers = {
  'webhook-id': id,
  'webhook-timestamp': timestamp,
  'webhook-signature': signatureOf('webhook-signature'),
  'X-Service-Signature': signatureOf('X-Service-Signature'),
};
const now = new Date(Number(timestamp) * 1000);

test('the client verifies both', async () => {
  const event = await verifyWebhook({ body, headers, secret, now });
  assert.equal(event.id, id);
  assert.deepEqual(await verifyWebhook({ body, headers, secret, scheme: 'service' }), event);
});

test('the service signs the delivery like that', () => {
  const secrets = { current: signingKey(secret), previous: null };
  const of = { serviceName: 'Service', version: '1', id, event: 'org.created', secrets, now };
  const signed = new Headers(deliveryHeaders({ ...of, body: Buffer.from(body) }));
  for (const [name, value] of Object.entries(headers)) assert.equal(signed.get(name), value, name);
});

test('the library of Standard Webhooks signs it like that', () => {
  const signature = new StandardWebhook(secret).sign(id, now, body);
  assert.equal(signature, headers['webhook-signature']);
});

const noOpenssl = spawnSync('openssl', ['version']).error && 'openssl is not installed';
test('the commands print both headers', { skip: noOpenssl ?? false }, () => {
  const { stdout, stderr } = spawnSync('sh', ['-c', script], { encoding: 'utf8' });
  assert.equal(stdout, result, stderr);
});
