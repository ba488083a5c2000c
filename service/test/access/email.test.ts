import assert from 'node:assert/strict';
import { test } from 'node:test';
import { normaliseEmail } from '../../src/access/email.ts';
import { ServiceError } from '../../src/errors.ts';

/** Null where it is refused. */
function normalise(text: string): string | null {
  try {
    return normaliseEmail(text);
  } catch (error) {
    assert.ok(error instanceof ServiceError && error.code === 'validation_failed');
    return null;
  }
}

test('addresses are trimmed and lower-cased', () => {
  assert.equal(normalise(' Ada.Lovelace@Example.ORG\n'), 'ada.lovelace@example.org');
  assert.equal(normalise('ÉMILE@exämple.org'), 'émile@exämple.org');
  for (const text of ['', 'ada', 'a b@example.org', 'a@b@c', '@example.org', 'ada@', 'a\0@b'])
    assert.equal(normalise(text), null, text);
});

test('a character that lower-cases to an ASCII letter is rejected by name', () => {
  assert.throws(() => normaliseEmail('ada@exampl\u0130.org', 'body.email'), {
    message: 'body.email: must not contain U+0130, which is read as i; use that letter itself',
  });
  assert.equal(normalise('mar\u212A@example.org'), null);
  assert.equal(normalise('ada@ban\u212A.example'), null);
});

test('no accepted address folds into another mailbox', () => {
  for (let codePoint = 0; codePoint <= 0x10ffff; codePoint += 1) {
    const character = String.fromCodePoint(codePoint);
    const normal = normalise(`a${character}b@c${character}d.example`);
    if (normal === null) continue;
    const label = `U+${codePoint.toString(16)}`;
    const rest = normal.replaceAll(/[^\0-\x7f]/gu, '');
    if (codePoint > 0x7f) assert.equal(rest, 'ab@cd.example', label);
    else assert.equal(rest, `a${character}b@c${character}d.example`.toLowerCase(), label);
    assert.equal(normalise(normal), normal, label);
  }
});
