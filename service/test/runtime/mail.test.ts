/** One mail over a real connection: how it looks, when it is not sent in clear, and what every refusal means. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { after, test } from 'node:test';
import type { MailSettings } from '../../src/settings/config.ts';
import { createMailer, type MailerOptions } from '../../src/runtime/mail.ts';
import { eventually } from '../support/eventually.ts';
import { mailSettings, smtpUser, startSmtpServer } from '../support/smtp-server.ts';

const mail = {
  id: '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f',
  to: 'ada@example.org',
  subject: 'Service: webhook to hooks.example is failing',
  text: 'Ünïcode, and a line that is longer than a line of a mail may be without being folded somehow.\n',
};

function mailer(port: number, settings: Partial<MailSettings> = {}, options: MailerOptions = {}) {
  const made = createMailer({ ...mailSettings(port), ...settings }, options);
  after(() => made.close());
  return made;
}

test('a mail is sent over TLS after sign-in, as text, marked as automatic', async () => {
  const server = await startSmtpServer({ options: { authOptional: false } });
  const settings = { credentials: smtpUser, requireTls: true };
  assert.deepEqual(await mailer(server.port, settings).send(mail), { kind: 'sent' });
  const [received] = server.mails;
  assert.ok(received);
  assert.equal(received.secure, true);
  assert.equal(received.user, smtpUser.user);
  assert.equal(received.from, 'no-reply@directory.example');
  assert.deepEqual(received.to, ['ada@example.org']);
  assert.equal(received.text, mail.text);
  const { headers } = received;
  assert.equal(headers.get('from'), 'Directory <no-reply@directory.example>');
  assert.equal(headers.get('to'), 'ada@example.org');
  assert.equal(headers.get('subject'), mail.subject);
  assert.equal(headers.get('message-id'), `<${mail.id}@directory.example>`);
  assert.equal(headers.get('auto-submitted'), 'auto-generated');
  assert.equal(headers.get('content-type'), 'text/plain; charset=utf-8');
});

test('implicit TLS works too', async () => {
  const server = await startSmtpServer({ options: { secure: true } });
  assert.deepEqual(await mailer(server.port, { secure: true }).send(mail), { kind: 'sent' });
  assert.equal(server.mails[0]?.secure, true);
});

test('nothing is sent without a required TLS or with an invalid certificate', async () => {
  const clear = await startSmtpServer({
    options: { disabledCommands: ['STARTTLS'], allowInsecureAuth: true },
  });
  const careful = { credentials: smtpUser, requireTls: true, verifyCertificate: true };
  for (const credentials of [smtpUser, null]) {
    const inClear = await mailer(clear.port, { ...careful, credentials }).send(mail);
    assert.equal(inClear.kind === 'failed' && inClear.error, 'tls');
  }
  for (const secure of [false, true]) {
    const selfSigned = await startSmtpServer({ options: { secure } });
    const result = await mailer(selfSigned.port, { ...careful, secure }).send(mail);
    assert.deepEqual(result, { kind: 'failed', error: 'tls', statusCode: null });
    assert.deepEqual(selfSigned.mails, []);
  }
  assert.deepEqual(clear.mails, []);
});

test("a wrong password is a temporary failure without the server's message", async () => {
  const server = await startSmtpServer({ options: { authOptional: false } });
  const credentials = { user: smtpUser.user, password: 'hunter2' };
  const result = await mailer(server.port, { credentials }).send(mail);
  assert.deepEqual(result, { kind: 'failed', error: 'auth', statusCode: 535 });
});

test('a permanent rejection is not retried; a temporary one is', async () => {
  let recipient: number | null = null;
  let from: number | null = null;
  let message: number | null = null;
  const server = await startSmtpServer({
    refuseRecipient: () => recipient,
    refuseSender: () => from,
    refuseMessage: () => message,
  });
  const sender = mailer(server.port);
  recipient = 550;
  assert.deepEqual(await sender.send(mail), {
    kind: 'refused',
    error: 'recipient',
    statusCode: 550,
  });
  recipient = 450;
  assert.deepEqual(await sender.send(mail), { kind: 'failed', error: 'deferred', statusCode: 450 });
  recipient = null;
  from = 553;
  assert.deepEqual(await sender.send(mail), { kind: 'failed', error: 'deferred', statusCode: 553 });
  from = null;
  message = 554;
  assert.deepEqual(await sender.send(mail), { kind: 'refused', error: 'message', statusCode: 554 });
  message = 452;
  assert.deepEqual(await sender.send(mail), { kind: 'failed', error: 'deferred', statusCode: 452 });
  message = null;
  assert.deepEqual(await sender.send(mail), { kind: 'sent' });
});

test('an unavailable server is a temporary failure', async () => {
  const server = await startSmtpServer();
  await server.stop();
  const result = await mailer(server.port).send(mail);
  assert.deepEqual(result, { kind: 'failed', error: 'connect', statusCode: null });
});

/** Says a line every now and then, and never the last. */
async function startDrip(greeting: string): Promise<{ port: number; sockets: Set<Socket> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.write(greeting);
    const timer = setInterval(() => socket.write('250-still thinking\r\n'), 5);
    socket.on('close', () => {
      clearInterval(timer);
      sockets.delete(socket);
    });
    socket.resume();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, sockets };
}

const timedOut = { kind: 'failed', error: 'timeout', statusCode: null };

test('a silent or endless server is cut off at the deadline', async () => {
  const silent = createServer((socket) => socket.on('error', () => {}));
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  after(() => silent.close());
  const { port } = silent.address() as AddressInfo;
  assert.deepEqual(await mailer(port, {}, { timeoutMs: 100 }).send(mail), timedOut);
  const drip = await startDrip('220 drip\r\n');
  assert.deepEqual(await mailer(drip.port, {}, { timeoutMs: 100 }).send(mail), timedOut);
  await eventually(async () => drip.sockets.size === 0);
  const held = await startSmtpServer({ refuseMessage: () => new Promise(() => {}) });
  assert.deepEqual(await mailer(held.port, {}, { timeoutMs: 1_000 }).send(mail), timedOut);
  await eventually(async () => held.connections() === 0);
});

test('close ends running mails and accepts no more', async () => {
  const held = await startSmtpServer({ refuseMessage: () => new Promise(() => {}) });
  const sender = mailer(held.port);
  const sending = sender.send(mail);
  await held.received(1);
  void sender.close();
  await sender.close();
  const closed = { kind: 'failed', error: 'closed', statusCode: null };
  assert.deepEqual(await sending, closed);
  assert.deepEqual(await sender.send(mail), closed);
  await eventually(async () => held.connections() === 0);
});

test('nothing in an address or a subject becomes a header, a command or a second recipient', async () => {
  const server = await startSmtpServer();
  const sender = mailer(server.port);
  for (const to of [
    'ada@example.org,eve@example.net',
    'ada@example.org\r\nRCPT TO:<eve@example.net>',
    '<ada@example.org>',
    '"ada, eve"@example.org',
    'ada@example.org>\u0000',
    'ada@exa\u0085mple.org',
    'ada;eve@example.org',
    'ada',
    '',
  ])
    assert.deepEqual(
      await sender.send({ ...mail, to }),
      { kind: 'refused', error: 'recipient', statusCode: null },
      JSON.stringify(to),
    );
  const subject = 'x\r\nBcc: eve@example.net\r\n\r\nbody';
  assert.deepEqual(await sender.send({ ...mail, subject }), { kind: 'sent' });
  assert.equal(server.mails.length, 1);
  assert.equal(server.mails[0]?.headers.get('bcc'), undefined);
  assert.deepEqual(server.mails[0]?.to, ['ada@example.org']);
  assert.equal(server.mails[0]?.text, mail.text);
});
