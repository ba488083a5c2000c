import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareAnswer } from '../src/database/shared-answer.ts';
import { eventually } from './support/eventually.ts';

/** Counts how often it is asked; the answers are given by hand. */
function question() {
  const given: PromiseWithResolvers<string>[] = [];
  const ask = () => {
    given.push(Promise.withResolvers<string>());
    return (given.at(-1) as PromiseWithResolvers<string>).promise;
  };
  return { ask, given };
}

test('all who ask at once share one question, and a failure is shared too', async () => {
  const { ask, given } = question();
  const read = shareAnswer(ask, { withinMs: 60_000, standsForMs: 0 });
  const first = [read(), read(), read()];
  given[0]?.resolve('one');
  assert.deepEqual(await Promise.all(first), ['one', 'one', 'one']);
  await eventually(async () => {
    void read().catch(() => {});
    return given.length === 2;
  });
  const second = [read(), read()];
  given[1]?.reject(new Error('away'));
  for (const answer of second) await assert.rejects(answer, /^Error: away$/);
  assert.equal(given.length, 2);
});

test('who asks waits no longer than is promised, and another may still get the answer', async () => {
  const { ask, given } = question();
  const read = shareAnswer(ask, { withinMs: 1, standsForMs: 60_000 });
  await assert.rejects(read(), /did not answer in time/);
  given[0]?.resolve('late');
  assert.equal(await read(), 'late');
  assert.equal(given.length, 1);
});

test('a question that fell silent is given up, and the next is asked', async () => {
  const { ask, given } = question();
  const read = shareAnswer(ask, { withinMs: 1, standsForMs: 60_000, givenUpAfterMs: 20 });
  await eventually(async () => {
    await read().catch(() => {});
    return given.length === 2;
  });
  given[1]?.resolve('two');
  assert.equal(await read(), 'two');
  given[0]?.resolve('one, after all');
  assert.equal(await read(), 'two');
});
