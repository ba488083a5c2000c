import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { finish } from '../../src/directory/search/steps.ts';
import { createVocabulary, isMistyped } from '../../src/directory/search/vocabulary.ts';

/** Every text that one insertion, deletion, substitution or swap makes of `text`. */
function mistypings(text: string): string[] {
  const made: string[] = [];
  for (let at = 0; at <= text.length; at += 1) {
    const [start, end] = [text.slice(0, at), text.slice(at)];
    for (const letter of 'ab') made.push(start + letter + end, start + letter + end.slice(1));
    made.push(start + end.slice(1), start + end.charAt(1) + end.charAt(0) + end.slice(2));
  }
  return made;
}

const word = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 7 });

test('one typing error is each single insertion, deletion, substitution and swap', () => {
  fc.assert(
    fc.property(word, word, (text, term) => {
      const expected = text === term || mistypings(text).includes(term);
      assert.equal(isMistyped(text, term, 1), expected);
    }),
  );
});

test('two errors in different places are found', () => {
  assert.ok(isMistyped('continental', 'contniental', 1));
  assert.ok(isMistyped('continental', 'kontnientl', 3));
  assert.ok(!isMistyped('continental', 'kontnientl', 2));
  assert.ok(isMistyped('continental', 'ocntinentla', 2));
});

test('a vocabulary finds each word with its match, and misses no typing error', () => {
  const words = fc.uniqueArray(
    fc.string({ unit: fc.constantFrom('a', 'b', 'c', '京'), minLength: 1 }),
  );
  fc.assert(
    fc.property(words, word, (each, term) => {
      const found: [number, number][] = [];
      const vocabulary = finish(createVocabulary(each));
      vocabulary.findContaining(term, (index, match) => found.push([index, match]));
      const expected = each.flatMap((text, index) => {
        if (text === term) return [[index, 0]];
        if (text.startsWith(term)) return [[index, 1]];
        return text.includes(term) ? [[index, 2]] : [];
      });
      assert.deepEqual(found, expected);
      const mistyped: number[] = [];
      vocabulary.findMistyped(term, 1, (index) => mistyped.push(index));
      assert.deepEqual(
        // In no order.
        mistyped.toSorted((a, b) => a - b),
        each.flatMap((text, index) =>
          !text.includes(term) && isMistyped(text, term, 1) ? [index] : [],
        ),
      );
    }),
  );
});
