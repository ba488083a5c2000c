/** Tests in which order leased deliveries start. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { Deliverable } from '../../../src/webhooks/sending/deliverable.ts';
import { Room, type Work } from '../../../src/webhooks/queue/dispatch/room.ts';
import { Starter } from '../../../src/webhooks/queue/dispatch/start-attempts.ts';

const times = { timeoutMs: 10_000, leaseMarginMs: 5_000 };

/** Each of a webhook of its own. */
function deliveries(name: string, count: number): Deliverable[] {
  const leaseEndsAt = performance.now() + times.timeoutMs + times.leaseMarginMs;
  return Array.from({ length: count }, (_, number) => {
    const webhookId = randomUUID();
    const url = `https://${name}-${number}.example.org`;
    return { webhookId, owner: name, url, latencyMs: 5, leaseEndsAt } as Deliverable;
  });
}

test('new events start before backlogs, and backlogs before broadcasts, also if they come later', async () => {
  const starter = new Starter(new Room(times), times);
  const started: string[] = [];
  const enqueue = (work: Work, name: string, count: number) =>
    starter.enqueue(deliveries(name, count), work).map(async ({ turn, delivery }) => {
      assert.ok(await turn);
      started.push(delivery.owner);
    });
  const turns = [
    ...enqueue('broadcast', 'broadcast', 100),
    ...enqueue('parked', 'backlog', 50),
    ...enqueue('event', 'event', 20),
  ];
  await Promise.all(turns);
  const first = (name: string) => started.indexOf(name);
  const last = (name: string) => started.lastIndexOf(name);
  assert.equal(started.length, 170);
  // A few of the broadcast's start in the turn in which it came.
  assert.ok(first('backlog') > first('event'));
  assert.ok(last('event') < 40, `the last event is number ${last('event')}`);
  assert.ok(last('backlog') < 90, `the last of the backlog is number ${last('backlog')}`);
});
