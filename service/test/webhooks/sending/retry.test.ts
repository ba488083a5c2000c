import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { attemptsMax, isSuccess } from '../../../src/contract/delivery-rules.ts';
import {
  backoffMs,
  decideVerdict,
  type AttemptResult,
} from '../../../src/webhooks/sending/retry.ts';

const backoff = { baseMs: 10_000, factor: 6 };
const cycle = (attempt: number) => ({ attempt, attemptsMax });
const now = new Date('2026-11-20T12:00:00Z');
const answered = (statusCode: number, retryAfter: string | null = null): AttemptResult => ({
  statusCode,
  error: null,
  retryAfter,
});
const wait = (result: AttemptResult, attempt = 1, random = 0.5) => {
  const verdict = decideVerdict(result, cycle(attempt), backoff, random, now);
  return verdict.kind === 'retry' ? verdict.waitMs : verdict.kind;
};

test('the backoff is 10 s, 1 min, 6 min, 36 min and 3 h 36 min', () => {
  assert.deepEqual(
    [1, 2, 3, 4, 5].map((attempt) => wait(answered(500), attempt)),
    [10_000, 60_000, 360_000, 2_160_000, 12_960_000],
  );
  assert.equal(wait(answered(500), 6), 'failed');
});

test('jitter moves a wait by at most a fifth', () => {
  assert.equal(backoffMs(1, backoff, 0), 8_000);
  assert.equal(backoffMs(1, backoff, 0.999_999), 12_000);
});

test('success is a 2xx status and nothing else', () => {
  for (let status = 100; status <= 999; status += 1)
    assert.equal(isSuccess(answered(status)), status >= 200 && status < 300);
  assert.equal(isSuccess({ statusCode: null, error: 'timeout' }), false);
});

test('Retry-After raises the wait on 429 and 503, at most to six hours', () => {
  assert.equal(wait(answered(429, '120')), 120_000);
  assert.equal(wait(answered(503, ' 120 ')), 120_000);
  for (const many of ['999999999', '9999999999', '1'.repeat(400)])
    assert.equal(wait(answered(503, many)), 6 * 3_600_000, many);
  assert.equal(wait(answered(429, '1')), 10_000, 'it never lowers the wait');
  assert.equal(wait(answered(500, '120')), 10_000);
});

for (const [form, text, expected] of [
  ['IMF-fixdate', 'Fri, 20 Nov 2026 12:05:00 GMT', 300_000],
  ['the form of RFC 850', 'Friday, 20-Nov-26 12:05:00 GMT', 300_000],
  ['the form of asctime', 'Fri Nov 20 12:05:00 2026', 300_000],
  ['asctime with a day of one digit', 'Tue Dec  1 12:00:00 2026', 6 * 3_600_000],
  ['a leap second', 'Fri, 20 Nov 2026 12:04:60 GMT', 300_000],
  ['a date that is past', 'Fri, 20 Nov 2026 11:05:00 GMT', 10_000],
  ['two digits up to 50 years ahead', 'Friday, 20-Nov-76 11:59:59 GMT', 6 * 3_600_000],
  ['two digits that seem further ahead, which are past', 'Sunday, 06-Nov-94 08:49:37 GMT', 10_000],
] as const) {
  test(`Retry-After may be a date: ${form}`, () => {
    assert.equal(wait(answered(503, text)), expected);
  });
}

test('garbage in Retry-After is ignored', () => {
  for (const text of [
    '',
    'soon',
    '-5',
    '1e9',
    '12.5',
    '0x10',
    'NaN',
    'Infinity',
    '2026-11-20',
    'Fri, 99 Nov 2026 12:05:00 GMT',
    'Fri, 00 Nov 2026 12:05:00 GMT',
    'Fri, 20 Nov 2026 24:05:00 GMT',
    'Fri, 20 nov 2026 12:05:00 GMT',
    'Fri, 20 Nov 2026 12:05:00 +0000',
    'Fri, 20-Nov-26 12:05:00 GMT',
    'Fri Nov 20 12:05:00 2026 GMT',
    'Mon, 31 Nov 2026 12:05:00 GMT',
  ]) {
    assert.equal(wait(answered(503, text)), 10_000, text);
  }
});

test('a cycle never has a seventh attempt, whatever the response', () => {
  const anyResult = fc.record({
    statusCode: fc.option(fc.integer({ min: 100, max: 999 })),
    error: fc.constant(null),
    retryAfter: fc.option(fc.string()),
  });
  fc.assert(
    fc.property(
      fc.array(anyResult, { minLength: 6, maxLength: 12 }),
      fc.double({ min: 0, max: 0.99, noNaN: true }),
      (results, random) => {
        let attempts = 0;
        for (const result of results) {
          attempts += 1;
          const verdict = decideVerdict(result, cycle(attempts), backoff, random, now);
          if (verdict.kind !== 'retry') break;
          assert.ok(verdict.waitMs > 0 && Number.isSafeInteger(verdict.waitMs));
        }
        assert.ok(attempts <= attemptsMax);
      },
    ),
  );
});
