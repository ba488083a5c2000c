import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import {
  deliveryHeaders,
  renderBody,
  signingKey,
} from '../../service/src/webhooks/sending/sign.ts';
import { signWebhook, verifyWebhook, type WebhookEvent } from '@orgdir/client';

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const id = '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f';
const content = { id, event: 'org.removed', createdAt: '2026-11-20T12:00:00.000Z' } as const;
const body = renderBody({ ...content, data: '{"id":"ü","number":12345678901234567890}' });

test('it makes the headers that the service makes', async () => {
  const now = new Date('2026-11-20T12:00:01.999Z');
  const {
    'content-length': _,
    'user-agent': __,
    ...expected
  } = deliveryHeaders({
    serviceName: 'Guild',
    version: '0',
    id,
    event: content.event,
    body: Buffer.from(body),
    secrets: { current: signingKey(secret), previous: null },
    now,
  });
  const signed = await signWebhook({ body, secret, timestamp: now, serviceName: 'Guild' });
  assert.deepEqual(signed, { method: 'POST', headers: expected, body });
});

test('verifyWebhook and standardwebhooks accept it, and a handler gets it as a request', async () => {
  const event: WebhookEvent = { ...content, data: { id } };
  const signed = await signWebhook({ event, secret });
  for (const scheme of ['standard', 'service'] as const) {
    const request = new Request('http://127.0.0.1/', signed);
    assert.deepEqual(await verifyWebhook({ request, secret, scheme }), event);
  }
  assert.deepEqual(new Webhook(secret).verify(signed.body, signed.headers), event);
});

test('one scheme alone, an old time and another id can be asked for', async () => {
  const timestamp = new Date(Date.now() - 600_000);
  const old = await signWebhook({ body, secret, timestamp, scheme: 'standard', id: 'other' });
  assert.equal(old.headers['webhook-id'], 'other');
  assert.equal(old.headers['X-Service-Signature'], undefined);
  await assert.rejects(verifyWebhook({ ...old, secret }), { reason: 'too_old' });
  const text = await signWebhook({
    body: 'Hello, World!',
    secret: "It's a Secret to Everybody",
    scheme: 'service',
    id,
  });
  assert.equal(
    text.headers['X-Service-Signature'],
    'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
  );
  assert.equal(text.headers['webhook-signature'], undefined);
});

test('invalid options are a TypeError', async () => {
  const wrong = [
    { body },
    { body, secret: '' },
    { secret },
    { body: 'no JSON', secret },
    { body, secret, scheme: 'both' },
    { body, secret, timestamp: new Date('never') },
    { body, secret, timestmp: new Date() },
    undefined,
    { body, secret: 'whsec_*' },
  ];
  for (const options of wrong)
    await assert.rejects(signWebhook(options as Parameters<typeof signWebhook>[0]), TypeError);
  const timestamp = Math.floor(Date.now() / 1_000) as unknown as Date;
  await assert.rejects(signWebhook({ body, secret, timestamp }), {
    name: 'TypeError',
    message: 'timestamp must be a valid Date: for seconds, new Date(seconds * 1000)',
  });
});
