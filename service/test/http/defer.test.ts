import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import fastify from 'fastify';
import { defer } from '../../src/http/app.ts';

const app = fastify();
let built = 0;
defer(app, ['/late'], async () => {
  built += 1;
  if (built === 1) throw new Error('too many open files');
  const inner = fastify();
  inner.get('/late', async () => 'here');
  await inner.ready();
  return inner;
});
const url = await app.listen({ host: '127.0.0.1', port: 0 });
after(() => app.close());

test('a failed build is repeated at the next request, and a successful one is kept', async () => {
  assert.equal((await fetch(`${url}/late`)).status, 500);
  const answers = await Promise.all([1, 2, 3].map(() => fetch(`${url}/late`)));
  for (const answer of answers) assert.equal(await answer.text(), 'here');
  assert.equal(built, 2);
});
