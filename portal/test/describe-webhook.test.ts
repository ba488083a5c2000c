import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nameInList, placeOf } from '../src/webhooks/describe-webhook.ts';

test('a webhook without a description is told apart by its path, unless that is masked', () => {
  const paths = { '/hooks': '/hooks', '/': '', '/…': '', '/100%': '/100%' };
  for (const [path, place] of Object.entries(paths))
    assert.equal(placeOf({ url: `https://example.org${path}`, description: null }), place);
  assert.equal(placeOf({ url: 'https://example.org/…', description: 'Chat' }), 'example.org');
});

test('webhooks of one host without descriptions are told apart in lists', () => {
  const named = (url: string, description: string | null = null) =>
    nameInList({ id: '01994f00-0000-7000-8000-00000000a1b2', url, description });
  assert.equal(named('https://example.org/one?token=x'), 'example.org/one');
  assert.equal(named('https://example.org/'), 'example.org');
  assert.equal(named('https://discord.com/…'), 'discord.com (…a1b2)');
  assert.equal(named('https://discord.com/…', 'Chat'), 'Chat');
  assert.equal(named(`https://${'a'.repeat(40)}.com/…`), `${'a'.repeat(30)}… (…a1b2)`);
  assert.equal(named('https://example.org/one', 'Chat'), 'Chat');
  assert.equal(named(`https://example.org/${'a'.repeat(100)}`).length, 61);
  assert.equal(named('https://example.org/one', `a${'🌳'.repeat(60)}`), `a${'🌳'.repeat(29)}…`);
});
