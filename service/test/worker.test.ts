import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import ipaddr from 'ipaddr.js';
import { pino } from 'pino';
import { loadConfig } from '../src/config.ts';
import { openDatabase, sql } from '../src/database/database.ts';
import { createSender } from '../src/webhooks/attempt.ts';
import { createInFlight } from '../src/webhooks/in-flight.ts';
import { createSecretBox } from '../src/webhooks/secrets.ts';
import { createWorker } from '../src/webhooks/worker.ts';
import { openTestDatabase } from './support/database.ts';

const { database, connection } = await openTestDatabase();
const { webhooks } = loadConfig({});

test(
  'a worker whose database is away tries now and then, and does not spin',
  { timeout: 30_000 },
  async () => {
    const lines: string[] = [];
    const output = new Writable({
      write(chunk: Buffer, _, done) {
        lines.push(String(chunk));
        output.emit('line');
        done();
      },
    });
    const own = openDatabase(connection, { applicationName: 'worker' });
    const sender = createSender({
      allowedNetworks: [ipaddr.parseCIDR('127.0.0.0/8')],
      timeoutMs: 1_000,
    });
    const worker = createWorker({
      database: own,
      connection,
      sender,
      webhooks,
      inFlight: createInFlight(),
      secretBox: createSecretBox([Buffer.alloc(32)]),
      serviceName: 'Service',
      version: '0',
      retentionDays: 30,
      log: pino({ level: 'error' }, output),
    });
    // Connected first: a pool that was never used has nothing to end.
    await sql`select 1`.execute(own);
    await own.destroy();
    worker.start();
    const failures = () => lines.filter((line) => line.includes('worker.failed')).length;
    while (failures() < 2) {
      await once(output, 'line');
      // Asked again and again meanwhile, as by every event of a busy platform.
      await sql`select pg_notify('orgdir_events', '')`.execute(database);
    }
    // A loop without pause would never have let this line be reached.
    await worker.stop();
    await sender.close();
    assert.ok(failures() < 20);
  },
);
