import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { head, pour, startByteReceiver, type Speak } from '../../support/byte-receiver.ts';
import type { HostileReport } from '../../support/hostile-attempts.ts';

const mebibyte = 1024 * 1024;
const attemptsEach = 100;

test('hundreds of concurrent hostile responses leave memory flat, and close leaves nothing', async () => {
  let offeredBytes = 0;
  const counted =
    (speak: Speak): Speak =>
    (socket, request) => {
      socket.once('close', () => (offeredBytes += socket.bytesWritten));
      speak(socket, request);
    };
  const bomb = gzipSync(Buffer.alloc(20 * mebibyte));
  const pourAfter = (start: string, chunk: string | Buffer) => (socket: Socket) => {
    socket.write(start);
    pour(socket, chunk);
  };
  const hostile: Speak[] = [
    pourAfter(head('200 OK'), Buffer.alloc(mebibyte, 'x')),
    pourAfter(head('200 OK', 'Transfer-Encoding: chunked'), `10000\r\n${'x'.repeat(65_536)}\r\n`),
    pourAfter(head('200 OK', 'Content-Encoding: gzip'), bomb),
    pourAfter('', head('103 Early Hints', `Link: ${'x'.repeat(1_000)}`).repeat(1_000)),
    pourAfter('HTTP/1.1 200 OK\r\n', `X-A: ${'x'.repeat(1_000)}\r\n`.repeat(1_000)),
  ];
  const receivers = await Promise.all(hostile.map((speak) => startByteReceiver(counted(speak))));
  const urls = Array.from({ length: attemptsEach }, () => receivers.map(({ url }) => url)).flat();

  const child = fork(join(import.meta.dirname, '../../support/hostile-attempts.ts'), {
    execArgv: ['--expose-gc'],
  });
  const exited = once(child, 'exit');
  child.send({ urls, concurrent: 200 });
  const [report] = (await once(child, 'message')) as [HostileReport];
  await Promise.all(receivers.map((receiver) => receiver.allClosed()));

  assert.deepEqual(report.outcomes, { 200: 3 * attemptsEach, reset: 2 * attemptsEach });
  assert.ok(offeredBytes > 500 * mebibyte, `only ${offeredBytes} bytes were offered`);
  assert.ok(
    report.grownBytes < offeredBytes / 10 && report.grownBytes < 48 * mebibyte,
    `${report.grownBytes} bytes held of ${offeredBytes} offered`,
  );
  assert.deepEqual(report.left, []);
  assert.deepEqual((await exited)[0], 0);
});
