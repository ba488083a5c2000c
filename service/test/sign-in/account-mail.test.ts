/** Notices of changes to an account, which a mail server does not take at once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../src/database/database.ts';
import { stopParts } from '../../src/start/main.ts';
import { eventually } from '../support/eventually.ts';
import { password, signInAs, signUp } from '../support/portal.ts';
import { startSmtpServer } from '../support/smtp-server.ts';
import { startTestService } from '../support/service.ts';

/** For signing up, without mails. */
const local = await startTestService();
const { database } = local;
const changedText = 'Your password was changed';

const envOf = (port: number) => ({
  SMTP_URL: `smtp://127.0.0.1:${port}`,
  MAIL_FROM: 'Directory <no-reply@example.org>',
});

test('a notice that the mail server defers is sent later, with the same text', async () => {
  let isBusy = true;
  const smtp = await startSmtpServer({ refuseRecipient: () => (isBusy ? 451 : null) });
  const service = await startTestService({ beside: local, env: envOf(smtp.port) });
  await signUp(local, 'ada@example.org');
  const ada = await signInAs(service, 'ada@example.org');
  const json = { currentPassword: password, newPassword: `${password} 2` };
  const changed = await ada.call('/account/password', { method: 'PUT', json });
  assert.equal(changed.status, 200, changed.text);
  await eventually(async () => {
    const { rows } = await sql`select from notices where recipient = ${ada.email}`.execute(
      database,
    );
    return rows.length === 1;
  });
  isBusy = false;
  service.mailSender?.start();
  const [mail] = await smtp.received(1);
  assert.deepEqual(mail?.to, [ada.email]);
  assert.ok(mail.text.includes(changedText), mail.text);
});

test('a notice that is cut off by a stop is sent by another process', async () => {
  const arrived = Promise.withResolvers<void>();
  const smtp = await startSmtpServer({
    refuseMessage: () => {
      arrived.resolve();
      return new Promise(() => {});
    },
  });
  const service = await startTestService({ beside: local, env: envOf(smtp.port) });
  await signUp(local, 'eve@example.org');
  const eve = await signInAs(service, 'eve@example.org');
  const json = { currentPassword: password, newPassword: `${password} 2` };
  assert.equal((await eve.call('/account/password', { method: 'PUT', json })).status, 200);
  await arrived.promise;
  await stopParts(service);
  const next = await startSmtpServer();
  const worker = await startTestService({ beside: local, env: envOf(next.port) });
  worker.mailSender?.start();
  const [mail] = await next.received(1);
  assert.deepEqual(mail?.to, [eve.email]);
  assert.ok(mail.text.includes(changedText), mail.text);
});
