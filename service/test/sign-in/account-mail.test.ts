/** Mails to accounts that a mail server does not take at once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../src/database/database.ts';
import { stopParts } from '../../src/start/main.ts';
import { eventually } from '../support/eventually.ts';
import { password, postPortal, signInAs, signUp } from '../support/portal.ts';
import { startSmtpServer } from '../support/smtp-server.ts';
import { startTestService } from '../support/service.ts';

/** For signing up, without mails. */
const local = await startTestService();
const { database } = local;
const changedText = 'Your password was changed';

test('a notice that the mail server defers is sent later, with the same text', async () => {
  let isBusy = true;
  const smtp = await startSmtpServer({ refuseRecipient: () => (isBusy ? 451 : null) });
  const service = await startTestService({ beside: local, env: smtp.env });
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
  const service = await startTestService({ beside: local, env: smtp.env });
  await signUp(local, 'eve@example.org');
  const eve = await signInAs(service, 'eve@example.org');
  const json = { currentPassword: password, newPassword: `${password} 2` };
  assert.equal((await eve.call('/account/password', { method: 'PUT', json })).status, 200);
  await arrived.promise;
  await stopParts(service);
  const next = await startSmtpServer();
  const worker = await startTestService({ beside: local, env: next.env });
  worker.mailSender?.start();
  const [mail] = await next.received(1);
  assert.deepEqual(mail?.to, [eve.email]);
  assert.ok(mail.text.includes(changedText), mail.text);
});

test('what the mail server leaves waiting replaces no code and no invitation', async () => {
  let isSilent = false;
  const smtp = await startSmtpServer({
    refuseMessage: () => (isSilent ? new Promise(() => {}) : null),
  });
  const service = await startTestService({ beside: local, env: smtp.env });
  await signUp(local, 'kim@example.org');
  const kim = await signInAs(service, 'kim@example.org');
  const post = (path: string, json: unknown) => kim.call(path, { method: 'POST', json });
  const { id: appId } = (await post('/apps', { name: 'Herald' })).body.data;
  const invited = { email: 'lee@example.org', role: 'viewer' };
  const { body } = await post(`/apps/${appId}/invitations`, invited);
  const resend = () => post(`/apps/${appId}/invitations/${body.data.id}/resend`, {});
  assert.equal((await post('/account/proof/mail', {})).status, 202);
  await smtp.received(2);
  const textTo = (email: string) => smtp.mails.find(({ to }) => to[0] === email)?.text ?? '';
  const code = /code is (\d{8})/.exec(textTo(kim.email))?.[1];
  const token = /invitation#([\w-]{43})/.exec(textTo(invited.email))?.[1];

  isSilent = true;
  for (let asked = 0; asked < 100; asked += 1) {
    await service.signIn.accounts.requestLink(`waiting-${asked}@example.org`);
    service.signIn.mail.invitation(`waiting-${asked}@example.org`, {
      appName: 'Herald',
      role: 'viewer',
      invitedBy: kim.email,
      url: 'https://directory.example.org/',
    });
  }
  const refused = [
    await post('/account/proof/mail', {}),
    await resend(),
    await post(`/apps/${appId}/invitations`, { ...invited, email: 'max@example.org' }),
  ];
  assert.deepEqual(
    refused.map(({ status }) => status),
    [503, 503, 503],
  );
  assert.equal((await post('/account/proof/mailed-code', { code })).status, 200);
  assert.equal((await postPortal(service, '/invitations/check', { token })).status, 200);
  const { body: listed } = await kim.call(`/apps/${appId}/invitations`);
  assert.deepEqual(
    listed.data.map(({ email }: { email: string }) => email),
    [invited.email],
  );
});
