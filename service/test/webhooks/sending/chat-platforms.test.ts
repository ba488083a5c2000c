/** Tests what is read from the responses of chat platforms, without a server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChatFormat } from '../../../src/contract/delivery-rules.ts';
import { readAnswer } from '../../../src/webhooks/sending/chat-platforms.ts';

type Given = { status: number | null; headers?: Record<string, string>; body?: unknown };

function answer(format: ChatFormat, { status, headers = {}, body = '' }: Given) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const outcome = {
    statusCode: status,
    error: status === null ? ('reset' as const) : null,
    retryAfter: headers['retry-after'] ?? null,
    responseHeaders: Buffer.from(JSON.stringify(headers)),
    responseBody: Buffer.from(text),
    errorCause: null,
    durationMs: 1,
  };
  return readAnswer(format, outcome, new Date());
}

const nothing = { limited: false, gone: false, webhookMs: 0, platformMs: 0, invalid: false };
const minute = 60_000;
const rows: [string, ChatFormat, Given, Partial<typeof nothing>][] = [
  ['a success', 'discord', { status: 204 }, {}],
  ['no response', 'discord', { status: null }, {}],
  [
    'the last message of a window',
    'discord',
    {
      status: 204,
      headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset-after': '1.25' },
    },
    { webhookMs: 1_250 },
  ],
  [
    'a message before the last one',
    'discord',
    {
      status: 204,
      headers: { 'x-ratelimit-remaining': '1', 'x-ratelimit-reset-after': '1.25' },
    },
    {},
  ],
  [
    'a limit of the channel that Discord counts',
    'discord',
    { status: 429, headers: { 'x-ratelimit-scope': 'user' }, body: { retry_after: 0.5 } },
    { limited: true, webhookMs: minute, invalid: true },
  ],
  [
    'a limit that others caused',
    'discord',
    { status: 429, headers: { 'x-ratelimit-scope': 'shared' }, body: { retry_after: 90 } },
    { limited: true, webhookMs: 90_000 },
  ],
  [
    'a limit of everything',
    'discord',
    { status: 429, headers: { 'x-ratelimit-scope': 'global' }, body: { retry_after: 0.25 } },
    { limited: true, webhookMs: minute, platformMs: 1_000, invalid: true },
  ],
  [
    'a block of the address',
    'discord',
    { status: 429, headers: { 'retry-after': '600' }, body: 'error code: 1015' },
    { limited: true, webhookMs: 600_000, platformMs: 600_000, invalid: true },
  ],
  [
    'a limit of no time',
    'teams',
    { status: 429, body: { retry_after: 0.001 } },
    { limited: true, webhookMs: 1_000 },
  ],
  ['a limit without a time', 'slack', { status: 429 }, { limited: true, webhookMs: minute }],
  [
    'a wrong token',
    'discord',
    { status: 401, body: { code: 50_027 } },
    { webhookMs: minute, invalid: true },
  ],
  [
    'Unknown Webhook',
    'discord',
    { status: 404, body: { code: 10_015 } },
    { gone: true, webhookMs: minute, invalid: true },
  ],
  [
    'a 404 of a proxy',
    'discord',
    { status: 404, body: '<html>' },
    { webhookMs: minute, invalid: true },
  ],
  ['a 410 of a proxy', 'slack', { status: 410, body: '<html>' }, {}],
  [
    'no_active_hooks',
    'slack',
    { status: 404, body: 'no_active_hooks' },
    { gone: true, webhookMs: minute },
  ],
  ['an archived channel', 'slack', { status: 410, body: 'channel_is_archived' }, { gone: true }],
  ['410', 'teams', { status: 410 }, { gone: true }],
  ['a word that begins as a code', 'slack', { status: 410, body: 'no_service_yet' }, {}],
  [
    'a deleted workflow',
    'teams',
    { status: 404, body: { error: { code: 'WorkflowNotFound' } } },
    { gone: true, webhookMs: minute },
  ],
];
for (const [what, format, given, expected] of rows)
  test(`${format}, ${what}`, () =>
    assert.deepEqual(answer(format, given), { ...nothing, ...expected }));
