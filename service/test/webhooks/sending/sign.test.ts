import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { createSecretBox } from '../../../src/runtime/secret-box.ts';
import {
  deliveryHeaders,
  githubSignature,
  renderBody,
  signingKey,
  generateSecret,
} from '../../../src/webhooks/sending/sign.ts';

test("the signature is GitHub's, by its published vector", () => {
  const signature = githubSignature("It's a Secret to Everybody", 'Hello, World!');
  assert.equal(
    signature,
    'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
  );
});

test('the body keeps the recorded bytes of its data', () => {
  const data = '{"b":1,"a":12345678901234567890.10,"text":"\\u00e9 é \u2028"}';
  const body = renderBody({
    id: 'd-1',
    event: 'org.created',
    createdAt: '2026-11-20T12:00:00.500Z',
    data,
  });
  assert.equal(
    body,
    `{"id":"d-1","event":"org.created","createdAt":"2026-11-20T12:00:00.500Z","data":${data}}`,
  );
});

test('during a rotation Standard Webhooks has both signatures, and the single header the old one', () => {
  const [current, previous] = [generateSecret(), generateSecret()];
  const body = Buffer.from('{"ü":1}');
  const headers = deliveryHeaders({
    serviceName: 'Acme',
    version: '1.0.0',
    id: 'd-1',
    event: 'org.created',
    body,
    secrets: { current: signingKey(current), previous: signingKey(previous) },
    now: new Date(),
  });
  for (const secret of [current, previous])
    assert.doesNotThrow(() => new StandardWebhook(secret).verify(body.toString(), headers));
  assert.throws(() => new StandardWebhook(generateSecret()).verify(body.toString(), headers));
  assert.equal(headers['X-Acme-Signature'], githubSignature(previous, body));
  assert.equal(headers['user-agent'], 'Acme-Webhooks/1.0.0');
});

test('a secret decrypts with any key of the list, only in its row, and only unchanged', () => {
  const [oldKey, newKey] = [randomBytes(32), randomBytes(32)];
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.uuid(), fc.nat(), (secret, owner, position) => {
      const sealed = createSecretBox([oldKey]).seal(secret, owner);
      const rotated = createSecretBox([newKey, oldKey]);
      assert.equal(rotated.open(sealed, owner), Buffer.from(secret).toString());
      assert.equal(
        createSecretBox([newKey]).open(rotated.seal(secret, owner), owner),
        Buffer.from(secret).toString(),
      );
      assert.throws(() => createSecretBox([newKey]).open(sealed, owner), /SECRET_KEY lacks/);
      assert.throws(() => rotated.open(sealed, `${owner}x`));
      const changed = Buffer.from(sealed);
      changed[position % changed.length]! ^= 1;
      assert.throws(() => rotated.open(changed, owner));
    }),
    { numRuns: 50 },
  );
});
