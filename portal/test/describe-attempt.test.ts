import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSuccess } from '../../service/src/contract/delivery-rules.ts';
import { describeAttempt } from '../src/ui/describe-attempt.ts';

const answered = (statusCode: number) =>
  describeAttempt({ statusCode, error: null, durationMs: 12 });
const without = (error: Parameters<typeof describeAttempt>[0]['error'], durationMs = 12) =>
  describeAttempt({ statusCode: null, error, durationMs });

test('a success has nothing to check, every other status something', () => {
  for (let status = 100; status <= 999; status += 1) {
    const { outcome, title, advice } = answered(status);
    const succeeded = isSuccess({ statusCode: status, error: null });
    assert.equal(outcome, succeeded ? 'succeeded' : 'failed');
    assert.ok(title.includes(String(status)), title);
    assert.equal(advice === null, succeeded);
  }
});

test('every fault has words of its own, and something to check', () => {
  const faults = ['dns', 'connect', 'tls', 'timeout', 'blocked', 'reset', 'interrupted'] as const;
  const words = faults.map((fault) => without(fault));
  assert.deepEqual(new Set(words.map(({ outcome }) => outcome)), new Set(['failed']));
  for (const part of ['title', 'advice'] as const)
    assert.equal(new Set(words.map((each) => each[part] ?? '')).size, faults.length);
  assert.equal(without('timeout', 10_000).title, 'No response within 10\u00a0s');
});

test('a known cause says more than its error', () => {
  const causes = ['refused', 'not_tls', 'certificate_expired', 'certificate_incomplete'] as const;
  for (const errorCause of causes) {
    const known = describeAttempt({ statusCode: null, error: 'tls', errorCause, durationMs: 12 });
    assert.notEqual(known.title, without('tls').title);
    assert.notEqual(known.advice, without('tls').advice);
  }
});

test('redirects, refusals, missing pages and failures differ', () => {
  assert.match(answered(301).advice ?? '', /location/);
  assert.match(answered(401).title, /authentication/);
  assert.match(answered(404).title, /Not found at this URL/);
  assert.match(answered(410).advice ?? '', /deactivated/);
  assert.match(answered(500).title, /failed/);
});

test('who posts into a chat channel checks its URL, and no server', () => {
  for (const statusCode of [400, 401, 404, 410, 503]) {
    const message = describeAttempt({ statusCode, error: null, durationMs: 12 }, true);
    assert.match(message.title, /chat platform/);
    assert.doesNotMatch(`${message.title} ${message.advice}`, /your server|signature/i);
  }
});
