import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import {
  OrgdirError,
  verifyWebhook,
  WebhookVerificationError,
  type VerifyWebhookOptions,
  type WebhookVerificationReason,
} from '@orgdir/client';

const secret = `whsec_${randomBytes(32).toString('base64')}`;
const otherSecret = `whsec_${randomBytes(32).toString('base64')}`;
const now = new Date('2026-11-20T12:00:00.400Z');
const event = {
  id: '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f',
  event: 'system.maintenance.disabled',
  createdAt: '2026-11-20T11:59:59.000Z',
  data: { since: '2026-11-20T11:00:00.000Z', endedAt: '2026-11-20T11:59:59.000Z' },
};
const body = JSON.stringify(event);

/** Signs like the published library. */
function sign(content: string = body, { key = secret, at = now, id = event.id } = {}) {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new StandardWebhook(key).sign(id, at, content),
  };
}

const github = (key: string, content: string | Uint8Array) =>
  `sha256=${createHmac('sha256', key).update(content).digest('hex')}`;

async function refused(options: VerifyWebhookOptions): Promise<WebhookVerificationError> {
  const error = await verifyWebhook(options).catch((thrown: unknown) => thrown);
  assert.ok(error instanceof WebhookVerificationError, inspect(error));
  assert.ok(error instanceof OrgdirError);
  return error;
}

async function reasonOf(options: VerifyWebhookOptions): Promise<WebhookVerificationReason> {
  return (await refused(options)).reason;
}

test('signatures of the Standard Webhooks library verify, and the event is typed', async () => {
  const verified = await verifyWebhook({ body, headers: sign(), secret, now });
  assert.deepEqual(verified, event);
  if (verified.event === 'system.maintenance.disabled')
    assert.equal(verified.data.endedAt, event.data.endedAt satisfies string);
});

test('the body may be text, bytes, a view, a stream or a Fetch request', async () => {
  const headers = sign();
  const bytes = new TextEncoder().encode(body);
  const around = new Uint8Array([1, 2, ...bytes, 3]);
  for (const form of [body, bytes, Buffer.from(body), bytes.buffer, around.subarray(2, -1)])
    assert.deepEqual(await verifyWebhook({ body: form, headers, secret, now }), event);
  const halves = Readable.from([bytes.subarray(0, 50), bytes.subarray(50)]);
  assert.deepEqual(await verifyWebhook({ body: halves, headers, secret, now }), event);
  const request = new Request('http://receiver.test/', { method: 'POST', body, headers });
  assert.deepEqual(await verifyWebhook({ request, secret, now }), event);
});

test('bytes may be of another realm, such as those of Node.js in a test environment', async () => {
  const given = { headers: sign(), secret, now };
  const bytes: Uint8Array<ArrayBuffer> = runInNewContext('Uint8Array.from(list)', {
    list: [...Buffer.from(body)],
  });
  assert.equal(Object.getPrototypeOf(bytes) === Uint8Array.prototype, false);
  for (const form of [bytes, bytes.buffer, Readable.from([bytes])])
    assert.deepEqual(await verifyWebhook({ body: form, ...given }), event);
  const other: Uint8Array = runInNewContext('Uint16Array.of(1)');
  await assert.rejects(verifyWebhook({ body: other, ...given }), TypeError);
});

test('headers may be an object with any case, Node.js headers, or Headers', async () => {
  const headers = sign();
  const shouted = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
  );
  const withLists = { ...headers, 'set-cookie': ['a', 'b'], 'x-none': undefined };
  for (const form of [shouted, withLists, new Headers(headers)])
    assert.deepEqual(await verifyWebhook({ body, headers: form, secret, now }), event);
});

test('a missing or repeated header is named', async () => {
  for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) {
    const headers: Record<string, string | string[]> = sign();
    const value = headers[name] as string;
    delete headers[name];
    const missing = await refused({ body, headers, secret, now });
    assert.deepEqual([missing.reason, missing.header], ['missing_header', name]);
    for (const twice of [
      { [name]: [value, value] },
      { [name]: value, [name.toUpperCase()]: value },
    ]) {
      const error = await refused({ body, headers: { ...headers, ...twice }, secret, now });
      assert.deepEqual([error.reason, error.header], ['malformed_header', name]);
    }
  }
});

test('a header in another format is malformed', async () => {
  const headers = sign();
  const signature = headers['webhook-signature'];
  const spoilt = {
    'webhook-timestamp': ['', 'now', '-1', '1e9', '1795176000.5', ' 1795176000', '9'.repeat(13)],
    'webhook-signature': [
      '',
      'v2,AAAA',
      signature.slice(3),
      signature.slice(0, -1),
      `${signature}=`,
      signature.replace('v1,', 'v1, '),
      Array.from({ length: 17 }, () => signature).join(' '),
    ],
  };
  for (const [header, values] of Object.entries(spoilt))
    for (const value of values)
      assert.equal(
        await reasonOf({ body, headers: { ...headers, [header]: value }, secret, now }),
        'malformed_header',
        `${header}: ${value}`,
      );
});

test('a signature in non-canonical base64 is malformed', async () => {
  const headers = sign();
  const signature = headers['webhook-signature'];
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const last = alphabet.indexOf(signature.at(-2) ?? '');
  for (const bits of [1, 2, 3]) {
    const other = `${signature.slice(0, -2)}${alphabet[last + bits]}=`;
    assert.deepEqual(
      Buffer.from(other.slice(3), 'base64'),
      Buffer.from(signature.slice(3), 'base64'),
    );
    const spoilt = { ...headers, 'webhook-signature': other };
    assert.equal(await reasonOf({ body, headers: spoilt, secret, now }), 'malformed_header');
  }
});

test('a delivery is valid for five minutes, or for the given tolerance', async () => {
  const after = (seconds: number) => new Date(Math.floor(now.getTime() / 1000 + seconds) * 1000);
  const headers = sign();
  for (const seconds of [-300, 0, 300])
    assert.ok(await verifyWebhook({ body, headers, secret, now: after(seconds) }));
  assert.equal(await reasonOf({ body, headers, secret, now: after(301) }), 'too_old');
  assert.equal(await reasonOf({ body, headers, secret, now: after(-301) }), 'too_new');
  assert.ok(await verifyWebhook({ body, headers, secret, now: after(3600), tolerance: 3600 }));
  assert.equal(await reasonOf({ body, headers, secret, now: after(2), tolerance: 1 }), 'too_old');
  assert.equal(await reasonOf({ body, headers, secret }), 'too_old', 'by the clock, unless told');
  assert.ok(await verifyWebhook({ body, headers: sign(body, { at: new Date() }), secret }));
});

test('any one of several secrets is enough, and one of several signatures in any order', async () => {
  const mine = sign()['webhook-signature'];
  const previous = sign(body, { key: otherSecret })['webhook-signature'];
  const foreign = sign(body, { key: `whsec_${randomBytes(32).toString('base64')}` });
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray([mine, previous, foreign['webhook-signature'], 'v1a,ed25519', 'v2,x'], {
        minLength: 1,
      }),
      fc.shuffledSubarray([secret, otherSecret], { minLength: 1 }),
      async (signatures, secrets) => {
        const headers = { ...sign(), 'webhook-signature': signatures.join(' ') };
        const genuine =
          (signatures.includes(mine) && secrets.includes(secret)) ||
          (signatures.includes(previous) && secrets.includes(otherSecret));
        const verified = verifyWebhook({ body, headers, secret: secrets, now });
        if (genuine) assert.deepEqual(await verified, event);
        else await assert.rejects(verified, WebhookVerificationError);
      },
    ),
    { numRuns: 100 },
  );
});

test('one changed bit in body or headers fails the verification', async () => {
  const headers: Record<string, string> = sign();
  const bytes = Buffer.from(body);
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.nat(7), async (position, bit) => {
      const changed = flip(bytes, position, bit);
      assert.equal(await reasonOf({ body: changed, headers, secret, now }), 'no_match');
      for (const [name, value] of Object.entries(headers)) {
        const spoilt = {
          ...headers,
          [name]: flip(Buffer.from(value), position, bit).toString('latin1'),
        };
        await refused({ body, headers: spoilt, secret, now, tolerance: 1e12 });
      }
    }),
    { numRuns: 150 },
  );
});

test('X-Service-Signature is checked only with scheme service', async () => {
  const headers = { 'X-Service-Signature': github(secret, body) };
  assert.equal(await reasonOf({ body, headers, secret, now }), 'missing_header');
  assert.deepEqual(await verifyWebhook({ body, headers, secret, scheme: 'service' }), event);
  const stale = { ...headers, ...sign(body, { at: new Date(0) }) };
  assert.equal(await reasonOf({ body, headers: stale, secret, now }), 'too_old');
  const unsigned = { ...sign(), 'x-service-signature': github(otherSecret, body) };
  assert.equal(await reasonOf({ body, headers: unsigned, secret, scheme: 'service' }), 'no_match');
});

test('the scheme service is GitHub’s, by its published vector', async () => {
  const options = { body: 'Hello, World!', secret: "It's a Secret to Everybody" };
  const signature = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';
  const genuine = { 'x-service-signature': signature };
  assert.equal(
    await reasonOf({ ...options, headers: genuine, scheme: 'service' }),
    'malformed_body',
    'genuine, though no delivery',
  );
  const spoilt = { 'x-service-signature': signature.replace(/7$/, '8') };
  assert.equal(await reasonOf({ ...options, headers: spoilt, scheme: 'service' }), 'no_match');
  for (const value of ['', signature.slice(7), signature.toUpperCase(), `${signature}0`]) {
    const headers = { 'x-service-signature': value };
    assert.equal(await reasonOf({ ...options, headers, scheme: 'service' }), 'malformed_header');
  }
});

test('signatureHeader sets the header of a renamed service', async () => {
  const headers = { 'x-acme-signature': github(secret, body) };
  const scheme = 'service';
  const signatureHeader = 'X-Acme-Signature';
  assert.deepEqual(await verifyWebhook({ body, headers, secret, scheme, signatureHeader }), event);
  assert.equal((await refused({ body, headers, secret, scheme })).header, 'x-service-signature');
});

test('a signed body that is not a delivery is malformed', async () => {
  const bodies = [
    '',
    '{',
    'null',
    '5',
    '[]',
    '{}',
    JSON.stringify({ ...event, data: null }),
    '"\ud800"',
  ];
  for (const content of [...bodies, JSON.stringify({ ...event, id: 1 })])
    assert.equal(
      await reasonOf({ body: content, headers: sign(content), secret, now }),
      'malformed_body',
      content,
    );
});

test('an endless request is rejected', async () => {
  const chunk = new Uint8Array(1024 * 1024);
  const endless = new ReadableStream<Uint8Array>({ pull: (sink) => sink.enqueue(chunk) });
  const init = { method: 'POST', headers: sign(), body: endless, duplex: 'half' } as const;
  const request = new Request('http://receiver.test/', init);
  assert.equal(await reasonOf({ request, secret, now }), 'body_too_large');
  const chunks = Readable.from(
    (function* () {
      for (;;) yield chunk;
    })(),
  );
  const headers = sign();
  assert.equal(await reasonOf({ body: chunks, headers, secret, now }), 'body_too_large');
  assert.equal(chunks.destroyed, false, 'its connection can still be answered on');
  chunks.destroy();
});

test('an unset secret is named, and is no failed verification', async () => {
  const headers = sign();
  const cases: [VerifyWebhookOptions['secret'], string][] = [
    [undefined, 'secret is not set (it is undefined)'],
    ['', 'secret is not set (it is empty)'],
    [[], 'secret is not set (it is an empty list)'],
    [[secret, undefined], 'secret[1] is not set (it is undefined)'],
    [['', secret], 'secret[0] is not set (it is empty)'],
  ];
  for (const [unset, text] of cases) {
    const error = await verifyWebhook({ body, headers, secret: unset, now }).catch(
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof TypeError, inspect([unset, error]));
    assert.ok(error.message.startsWith(`${text}: pass the secret of the webhook`), error.message);
    assert.ok(!error.message.includes(secret.slice(6)), 'no secret in it');
  }
});

test('invalid options are a TypeError that quotes no secret', async () => {
  const headers = sign();
  const wrong: object[] = [
    { secret: 5 },
    { secret: 'whsec_' },
    { secret: 'whsec_not base64!' },
    { body: { parsed: true } },
    { body: null },
    { body: Readable.from(['text']) },
    { scheme: 'Standard' },
    { scheme: 'toString' },
    { tolerance: Number.NaN },
    { tolerance: -1 },
    { now: new Date(Number.NaN) },
  ];
  for (const change of wrong) {
    const options = { body, headers, secret, now, ...change } as VerifyWebhookOptions;
    const error = await verifyWebhook(options).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof TypeError, inspect([change, error]));
    assert.doesNotMatch(inspect(error), /not base64!/);
  }
  const error = await refused({ body, headers, secret: otherSecret, now });
  assert.ok(!inspect(error, { depth: 9 }).includes(otherSecret.slice(6)));
});

function flip(bytes: Buffer, position: number, bit: number): Buffer {
  const changed = Buffer.from(bytes);
  const at = position % changed.length;
  changed.writeUInt8(changed.readUInt8(at) ^ (1 << bit), at);
  return changed;
}
