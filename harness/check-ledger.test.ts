/** Tests the check itself: it must find every kind of error, or the scenarios would prove nothing. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { checkLedger } from './check-ledger.ts';
import type { Ledger, LedgerAttempt } from './ledger.ts';
import type { Received } from './receivers.ts';

const event = { id: 'e', name: 'event', allianceId: 'a', requestId: 'r-1' };
const plainWebhook = {
  id: 'w',
  event: 'event',
  allianceId: 'a',
  path: '/w',
  idPrefix: null,
  hasOwnHeader: false,
  isChat: false,
};
const fault = { from: 1_000, until: 2_000 };

test('a delivery that succeeded after an attempt that a fault met in flight is right, and counted', () => {
  const { wrong, counts } = checkLedger(interruptedOnce());
  assert.deepEqual(wrong, []);
  assert.deepEqual(counts, {
    faults: 1,
    deliveries: 1,
    succeeded: 1,
    failed: 0,
    attempts: 2,
    requests: 2,
    interrupted: 1,
    doubles: 1,
    inFlight: 1,
  });
});

test('an event that was committed and is gone is found, and one that nobody published', () => {
  assert.match(wrongWith({ committed: new Set(['e', 'lost']) }), /the event lost is lost/);
  assert.match(wrongWith({ committed: new Set() }), /nobody published the event e/);
  assert.equal(wrongWith({ committed: new Set(), uncertain: new Set(['e']) }), '');
});

test('a delivery that is missing, made twice, or of another event is found', () => {
  const { deliveries, webhooks } = interruptedOnce();
  assert.match(wrongWith({ deliveries: [], attempts: [], received: [] }), /has 0 deliveries/);
  assert.match(wrongWith({ deliveries: [...deliveries, ...deliveries] }), /has 2 deliveries/);
  const other = { ...plainWebhook, id: 'w2', event: 'other', path: '/other' };
  assert.match(
    wrongWith({
      webhooks: [...webhooks, other],
      deliveries: deliveries.map((one) => Object.assign({}, one, { webhookId: 'w2' })),
    }),
    /has 1 deliveries to \/other, not 0/,
  );
  assert.match(
    wrongWith({ events: [{ ...event, allianceId: 'b' }] }),
    /has 1 deliveries to \/w, not 0/,
  );
});

test('a delivery that has not ended, or was cancelled, is found', () => {
  for (const status of ['pending', 'cancelled'] as const)
    assert.match(wrongWithDelivery({ status }), new RegExp(`it is ${status} at the end`));
});

test('attempts that are missing, doubled or too many are found', () => {
  const [first, second] = interruptedOnce().attempts as [LedgerAttempt, LedgerAttempt];
  assert.match(wrongWith({ attempts: [second] }), /its attempts are numbered 2/);
  assert.match(wrongWith({ attempts: [first, first, second] }), /numbered 1, 1, 2/);
  assert.match(wrongWithDelivery({ attemptCount: 3 }), /2 attempts are recorded, and 3 counted/);
  const seven = Array.from({ length: 7 }, (_, index) => ({ ...first, number: index + 1 }));
  assert.match(wrongWith({ attempts: seven, ...counted(7, 'failed') }), /it has 7 attempts/);
  assert.equal(
    wrongWith({ attempts: seven, replays: 1, deliveries: [] }).includes('it has 7'),
    false,
  );
});

test('an outcome that the attempts do not bear out is found', () => {
  const [first, second] = interruptedOnce().attempts as [LedgerAttempt, LedgerAttempt];
  assert.match(wrongWith(counted(2, 'failed')), /it failed with a success/);
  const early = [
    { ...second, number: 1 },
    { ...first, number: 2 },
  ];
  assert.match(wrongWith({ attempts: early }), /with a success as attempt 1 of 2/);
  assert.match(
    wrongWith({ attempts: [first], received: [], ...counted(1, 'failed') }),
    /it failed after 1 attempts/,
  );
});

test('bytes that differ, a signature that does not verify and another webhook are found', () => {
  assert.match(wrongWithRequest({ digest: 'other', body: 'other' }), /other was sent for bytes/);
  assert.match(wrongWithRequest({ signed: false }), /a signature does not verify/);
  assert.match(wrongWithRequest({ webhookPath: '/other' }), /another webhook got it/);
  assert.match(
    wrongWithRequest({ deliveryId: 'none' }),
    /a receiver saw none, which is no delivery/,
  );
});

test('a delivery of an event that a filter excludes is found, and one that is missing although it passes', () => {
  const filtered = (idPrefix: string) => ({ webhooks: [{ ...plainWebhook, idPrefix }] });
  assert.equal(wrongWith(filtered('r-1')), '');
  assert.match(wrongWith(filtered('r-2')), /has 1 deliveries to \/w, not 0/);
  assert.match(
    wrongWith({ ...filtered('r-1'), deliveries: [], attempts: [], received: [] }),
    /has 0 deliveries to \/w, not 1/,
  );
});

test('a request without its own header is found, and one with the header of another webhook', () => {
  assert.match(
    wrongWith({ webhooks: [{ ...plainWebhook, hasOwnHeader: true }] }),
    /a request lacks the own header/,
  );
  assert.match(wrongWithRequest({ hasOwnHeader: true }), /a request has an own header/);
});

test('a chat message is found by its bytes and channel; others, missing and signed ones are wrong', () => {
  const webhooks = [{ ...plainWebhook, isChat: true }];
  const { received } = interruptedOnce();
  const messages = received.map((one) => Object.assign({}, one, { deliveryId: '', signed: false }));
  const [first, second] = messages as [Received, Received];
  assert.equal(wrongWith({ webhooks, received: messages }), '');
  for (const other of [{ body: 'other' }, { webhookPath: '/other' }])
    assert.match(
      wrongWith({ webhooks, received: [{ ...first, ...other }, second] }),
      /a receiver saw \w+ at \/\w+, which is no delivery/,
    );
  assert.match(wrongWith({ webhooks, received: [] }), /answered 0 times/);
  assert.match(
    wrongWith({ webhooks, received: [{ ...first, signed: true }, second] }),
    /a chat message is signed/,
  );
});

test('a status that nobody answered is found, and a request that nobody recorded', () => {
  const [request] = interruptedOnce().received as [Received];
  assert.match(wrongWith({ received: [] }), /200 is recorded 1 times, answered 0 times/);
  assert.match(
    wrongWith({ received: [request, request, request] }),
    /3 requests were seen, and 2 attempts recorded/,
  );
});

test('a double that no fault explains is found', () => {
  assert.match(wrongWith({ faults: [] }), /1 doubles were not in flight at a fault/);
  assert.match(wrongWith({ faults: [{ from: 5_000, until: 6_000 }] }), /1 doubles were not/);
});

/** A delivery whose first attempt arrived but was interrupted, and whose second succeeded. */
function interruptedOnce(): Ledger {
  const attempt = { deliveryId: 'd', startedAt: 900, durationMs: 300 };
  const request = {
    deliveryId: 'd',
    webhookPath: '/w',
    from: '127.0.0.1',
    digest: createHash('sha256').update('bytes').digest('hex'),
    body: 'bytes',
    signed: true,
    hasOwnHeader: false,
    status: 200,
  };
  return {
    committed: new Set(['e']),
    uncertain: new Set(),
    events: [event],
    webhooks: [plainWebhook],
    deliveries: [{ id: 'd', eventId: 'e', webhookId: 'w', status: 'succeeded', attemptCount: 2 }],
    attempts: [
      { ...attempt, number: 1, statusCode: null, error: 'interrupted' },
      { ...attempt, startedAt: 3_000, number: 2, statusCode: 200, error: null },
    ],
    replays: 0,
    bodies: new Map([['d', 'bytes']]),
    received: [
      { ...request, at: 950 },
      { ...request, at: 3_050 },
    ],
    faults: [fault],
  };
}

function counted(attemptCount: number, status: 'failed'): Pick<Ledger, 'deliveries'> {
  return {
    deliveries: interruptedOnce().deliveries.map((one) =>
      Object.assign({}, one, { attemptCount, status }),
    ),
  };
}

function wrongWith(change: Partial<Ledger>): string {
  return checkLedger({ ...interruptedOnce(), ...change }).wrong.join('\n');
}

function wrongWithDelivery(change: Partial<Ledger['deliveries'][number]>): string {
  const { deliveries } = interruptedOnce();
  return wrongWith({ deliveries: deliveries.map((one) => Object.assign({}, one, change)) });
}

function wrongWithRequest(change: Partial<Received>): string {
  const [first, ...others] = interruptedOnce().received as [Received];
  return wrongWith({ received: [{ ...first, ...change }, ...others] });
}
