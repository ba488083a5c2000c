import assert from 'node:assert/strict';
import { test } from 'node:test';
import { coalesce } from '../../src/database/coalesce.ts';
import { eventually } from '../support/eventually.ts';

/** Counts its calls. The test resolves their results. */
function createQuery() {
  const results: PromiseWithResolvers<string>[] = [];
  const query = () => {
    results.push(Promise.withResolvers<string>());
    return (results.at(-1) as PromiseWithResolvers<string>).promise;
  };
  return { query, results };
}

test('concurrent callers share one query, and its error', async () => {
  const { query, results } = createQuery();
  const read = coalesce(query, { timeoutMs: 60_000, reuseMs: 0 });
  const first = [read(), read(), read()];
  results[0]?.resolve('one');
  assert.deepEqual(await Promise.all(first), ['one', 'one', 'one']);
  await eventually(async () => {
    void read().catch(() => {});
    return results.length === 2;
  });
  const second = [read(), read()];
  results[1]?.reject(new Error('away'));
  for (const result of second) await assert.rejects(result, /^Error: away$/);
  assert.equal(results.length, 2);
});

test('a caller waits no longer than the timeout, and a later one can still get the result', async () => {
  const { query, results } = createQuery();
  const read = coalesce(query, { timeoutMs: 1, reuseMs: 60_000 });
  await assert.rejects(read(), { code: 'unavailable' });
  results[0]?.resolve('late');
  assert.equal(await read(), 'late');
  assert.equal(results.length, 1);
});

test('a query without a result is abandoned, and the next caller starts another', async () => {
  const { query, results } = createQuery();
  const read = coalesce(query, { timeoutMs: 1, reuseMs: 60_000, abandonAfterMs: 20 });
  await eventually(async () => {
    await read().catch(() => {});
    return results.length === 2;
  });
  results[1]?.resolve('two');
  assert.equal(await read(), 'two');
  results[0]?.resolve('one, too late');
  assert.equal(await read(), 'two');
});
