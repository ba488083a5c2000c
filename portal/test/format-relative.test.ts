import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatRelative } from '../src/ui/format-relative.ts';

const secondMs = 1_000;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

test('a future time is rounded, so seven days stay seven days on their way to the screen', () => {
  assert.equal(formatRelative(7 * dayMs), 'in 7 days');
  assert.equal(formatRelative(7 * dayMs - secondMs), 'in 7 days');
  assert.equal(formatRelative(7 * dayMs - hourMs), 'in 7 days');
  assert.equal(formatRelative(dayMs - secondMs), 'in 1 day');
  assert.equal(formatRelative(hourMs - secondMs), 'in 1 hour');
  assert.equal(formatRelative(hourMs - minuteMs), 'in 59 minutes');
  assert.equal(formatRelative(20 * secondMs), 'in 20 seconds');
});

test('a past time counts whole units', () => {
  assert.equal(formatRelative(-2 * hourMs + secondMs), '1 hour ago');
  assert.equal(formatRelative(-2 * hourMs), '2 hours ago');
  assert.equal(formatRelative(-50 * secondMs), '50 seconds ago');
  assert.equal(formatRelative(0), 'now');
});
