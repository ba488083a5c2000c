import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placeOf } from '../src/webhooks/describe-webhook.ts';

test('a webhook without a description is told apart by its path, unless that is masked', () => {
  const paths = { '/hooks': '/hooks', '/': '', '/…': '', '/100%': '/100%' };
  for (const [path, place] of Object.entries(paths))
    assert.equal(placeOf({ url: `https://example.org${path}`, description: null }), place);
  assert.equal(placeOf({ url: 'https://example.org/…', description: 'Chat' }), 'example.org');
});
